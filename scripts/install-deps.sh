#!/usr/bin/env bash
# Installs the Debian packages that Tutti needs. Silent if nothing is missing.
#   scripts/install-deps.sh                install all missing packages (as root, or with sudo)
#   scripts/install-deps.sh --for GROUP    only those of one purpose: build, docs or test (build, tests, benchmarks,
#                                          documentation), or deep (test, clang tools)
#   scripts/install-deps.sh --check        only list the missing packages; exit 1 if there are any
#   scripts/install-deps.sh --list         print the packages with their group and reason
#   scripts/install-deps.sh --with peers   also the newest releases of other libraries from PyPI, for `tutti bench`, in a
#                                          virtual environment: TUTTI_PEERS, by default ~/.cache/tutti/peers (1.7 GB)
# TUTTI_SKIP_DEPS=1 skips everything, for systems where the dependencies are provided in another way.
set -euo pipefail

list() {
  cat <<'LIST'
g++                    build  the compiler (12 or later)
cmake                  build  configures the build
ninja-build            build  runs the build
ccache                 build  compiler cache: fast rebuilds
mold                   build  fast linker
git                    build  fetches and describes the source
pkg-config             build  finds hwloc and Highway, checks tutti.pc
libfmt-dev             build  text formatting (no std::format in g++ 12)
libhwloc-dev           build  topo: sockets, caches, cores, accelerators
libhwy-dev             build  comm: SIMD kernels with run-time dispatch
liburing-dev           build  io: asynchronous reads and writes
libsodium-dev          build  auth: keyed hashes and random secrets
nlohmann-json3-dev     build  reading and writing JSON
libcli11-dev           build  command lines
libtomlplusplus-dev    build  configuration files
openmpi-bin            build  the default mpirun
libopenmpi-dev         build  comm: the transport between hosts
libgtest-dev           build  unit tests
python3                build  scripts and checks (standard library only)
python3-dev            build  python: headers of the extension modules
pybind11-dev           build  python: bindings of the extension modules
python3-numpy          build  python: arrays
libopenblas0-pthread   build  BLAS for torch and NumPy; the reference BLAS is many times slower
libtorch-dev           build  torch_backend, train: tensors and networks
libhdf5-dev            build  train, learn: HDF5 files
libzip-dev             build  io: .npz files
libfftw3-dev           build  models: Fourier transforms of the cosmology case
libfastjet-dev         build  models: jets of the particle physics case
libfastjettools-dev    build  models: trimming of jets
libeigen3-dev          build  tune: linear algebra
libnlopt-cxx-dev       build  tune: L-BFGS
libboost-dev           build  tune: Sobol points
libsqlitecpp-dev       build  tune: study files
libsqlite3-dev         build  tune: study files
libnifti2-dev          build  models: brain scans as NIfTI files
librsvg2-bin           build  train: plots as PNG
fonts-dejavu-core      build  train: fonts of the plots
libgmock-dev           build  matchers of the unit tests
zlib1g-dev             build  tests: compressed .npz files
hwloc-nox              test   lstopo, compared with topo
mpich                  test   second MPI: must build too; baseline of the benchmarks
libmpich-dev           test   headers of MPICH
clang-format-19        test   the format check
openssh-server         test   scripts/testbed: one sshd per host
openssh-client         test   starting ranks on other hosts
iproute2               test   scripts/testbed: links, bridge, rates
munge                  test   tests of ddlrun under Slurm: its authentication
slurm-client           test   tests of ddlrun under Slurm: salloc, srun
slurmctld              test   tests of ddlrun under Slurm: the controller
slurmd                 test   tests of ddlrun under Slurm: the node
util-linux             test   scripts/testbed: unshare, nsenter, setpriv
python3-pytest         test   tests of the Python modules
python3-pip            test   the Python modules as a wheel
python3-setuptools     test   the Python modules as a wheel
python3-wheel          test   the Python modules as a wheel
python3-venv           test   install-deps.sh --with peers: a virtual environment
python3-scipy          test   learn: sparse matrices
python3-sklearn        test   learn: API conventions; baseline of the benchmarks
python3-pandas         test   learn: data frames as input
python3-torch          test   tests of torch_backend and of training scripts
python3-h5py           test   examples and tests: HDF5 files from Python
libgloo-dev            test   baseline of the benchmarks
liblinear-tools        test   baseline of the benchmarks of linear models
python3-optuna         test   baseline of the benchmarks of hyper-parameter search
python3-xgboost        test   baseline of the benchmarks of trees
python3-sphinx         docs   the documentation site
python3-myst-parser    docs   Markdown pages in the site
python3-sphinx-rtd-theme docs the theme of the site
doxygen                docs   comments of the public C++ headers
python3-breathe        docs   C++ comments in the site
clang-19               deep   the thread-safety analysis; compiles every file on its own
clang-tidy-19          deep   static checks
LIST
}

missing() {
  local wanted installed
  wanted=$(list | awk -v groups="$groups" 'groups ~ "(^| )" $2 "( |$)" {print $1}' | sort)
  # dpkg-query fails if a package is unknown, but still lists the others.
  # shellcheck disable=SC2086  # one word per package
  installed=$({ dpkg-query -W -f='${Package} ${db:Status-Status}\n' $wanted 2>/dev/null || true; } |
    awk '$2 == "installed" {print $1}' | sort -u)
  comm -23 <(echo "$wanted") <(echo "$installed")
}

fail() {
  printf 'install-deps: %s\n' "$@" >&2
  exit 1
}

# Installing openssh-server must not open a port on this machine: the policy file forbids starting services while
# packages are set up, and the service is left disabled. An existing policy file is not changed.
install_quietly() {
  $as_root bash -s -- "$@" <<'INSTALL'
set -euo pipefail
policy=/usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
install() { apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" </dev/null; }
# The package lists are fetched only if the present ones do not find the packages.
install "$@" || { apt-get update -qq </dev/null && install "$@"; }
case " $* " in
*" openssh-server "*) if [ -d /run/systemd/system ]; then systemctl --quiet disable ssh || true; fi ;;
esac
INSTALL
}

# The environment is replaced only when the new one is complete.
install_peers() {
  local folder=${TUTTI_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/tutti/peers} log
  log=$(mktemp)
  echo "install-deps: installing $peers in $folder"
  mkdir -p "$(dirname "$folder")"
  # shellcheck disable=SC2086  # one word per package
  { /usr/bin/python3 -m venv --clear "$folder.new" && "$folder.new/bin/python3" -m pip install --upgrade $peers; } \
    >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    rm -rf "$log" "$folder.new"
    fail "the newest releases could not be installed. Check the network and that python3-venv is installed."
  }
  rm -rf "$log" "$folder"
  mv "$folder.new" "$folder"
  "$folder/bin/python3" -m pip list --format freeze 2>/dev/null | grep -iE "^($(echo "$peers" | tr ' ' '|'))=="
}

peers="optuna scikit-learn scikit-learn-intelex xgboost lightgbm catboost"
groups="build test docs deep"
only_check=
with_peers=
while [ $# -gt 0 ]; do
  case "$1" in
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit ;;
  --list) list && exit ;;
  --check) only_check=1 ;;
  --for)
    case "${2:-}" in
    build) groups="build" ;;
    docs | test) groups="build test docs" ;;
    deep) groups="build test docs deep" ;;
    *) fail "unknown group '${2:-}'; valid groups: build, docs, test, deep" ;;
    esac
    shift
    ;;
  --with)
    [ "${2:-}" = peers ] || fail "unknown addition '${2:-}'; valid: peers"
    with_peers=1
    shift
    ;;
  *) fail "unknown option $1; valid options: --for GROUP, --with peers, --check, --list" ;;
  esac
  shift
done
if [ -n "$with_peers" ]; then
  install_peers
fi
[ -z "${TUTTI_SKIP_DEPS:-}" ] || exit 0
command -v dpkg-query >/dev/null ||
  fail "this is not a Debian system. Provide what '$0 --list' names, then set TUTTI_SKIP_DEPS=1."

mapfile -t packages < <(missing)
[ ${#packages[@]} -gt 0 ] || exit 0
command="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
[ -z "$only_check" ] || fail "missing: ${packages[*]}" "install with: $command"

as_root=
if [ "$(id -u)" != 0 ]; then
  as_root=sudo
  [ -t 0 ] || as_root="sudo -n"
  $as_root true 2>/dev/null || fail "missing packages, and this user may not install them. Run as root:" "  $command"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "install-deps: installing ${packages[*]}"
install_quietly "${packages[@]}" >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  fail "the packages could not be installed. Run as root and read the messages:" "  $command"
}
mpirun --version 2>/dev/null | grep -q "Open MPI" ||
  echo "install-deps: mpirun is not Open MPI's; the tests expect it: update-alternatives --auto mpirun" >&2
