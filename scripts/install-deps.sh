#!/usr/bin/env bash
# Installs the Debian packages that building, testing and measuring Tutti needs. Silent when nothing is missing.
#   scripts/install-deps.sh            install what is missing (as root, or through sudo)
#   scripts/install-deps.sh --check    only say what is missing; exit 1 if anything is
#   scripts/install-deps.sh --list     print the list with the reasons
# TUTTI_SKIP_DEPS=1 skips it all: for systems where you have provided these things yourself.
set -euo pipefail

list() {
  cat <<'LIST'
g++                    the compiler (12 or later)
cmake                  configures the build
ninja-build            runs the build
ccache                 makes the second build quick
mold                   links quickly
git                    fetches and describes the source
pkg-config             finds hwloc and Highway, checks our own tutti.pc
libfmt-dev             text formatting (no std::format in g++ 12)
libhwloc-dev           topo: sockets, caches, cores, accelerators
hwloc-nox              lstopo, to look at what topo sees
libhwy-dev             comm: SIMD kernels with run-time dispatch
liburing-dev           io: reading ahead of the computing
libsodium-dev          auth: keyed hashes and random secrets
nlohmann-json3-dev     reading and writing JSON
libcli11-dev           command lines
libtomlplusplus-dev    configuration files
openmpi-bin            the default mpirun
libopenmpi-dev         comm: the transport between hosts
mpich                  second MPI: must build too, peer of the benchmarks
libmpich-dev           its headers
libgloo-dev            peer of the benchmarks
libgtest-dev           unit tests
libgmock-dev           matchers of the unit tests
libbenchmark-dev       micro benchmarks
clang-format           the format check
openssh-server         scripts/testbed: one sshd per host
openssh-client         starting ranks on other hosts
iproute2               scripts/testbed: links, bridge, rates
munge                  tests of ddlrun under Slurm: its authentication
slurm-client           tests of ddlrun under Slurm: salloc, srun
slurmctld              tests of ddlrun under Slurm: the controller
slurmd                 tests of ddlrun under Slurm: the node
util-linux             scripts/testbed: unshare, nsenter, setpriv
python3                scripts and checks (standard library only)
python3-dev            python: headers of the extension modules
pybind11-dev           python: bindings of the extension modules
python3-numpy          python: arrays
python3-pytest         tests of the Python modules
python3-pip            the Python modules as a wheel
python3-setuptools     the same
python3-wheel          the same
python3-scipy          learn: sparse matrices
python3-sklearn        learn: the conventions kept, peer of the benchmarks
python3-pandas         learn: tables as input
liblinear-tools        peer of the benchmarks of linear models
python3-xgboost        peer of the benchmarks of trees
libopenblas0-pthread   the BLAS that torch and NumPy take; the reference one is many times slower
libtorch-dev           torch_backend, train: tensors and networks
python3-torch          the scripts whose process group torch_backend is
libhdf5-dev            train, learn: data sets
python3-h5py           examples and tests: data sets from Python
zlib1g-dev             tests: compressed .npz files
libzip-dev             io: .npz files
libfftw3-dev           models: Fourier transforms of the cosmology case
libfastjet-dev         models: jets of the particle physics case
libfastjettools-dev    models: trimming of jets
libnifti2-dev          models: brain scans as NIfTI files
librsvg2-bin           train: plots as PNG
fonts-dejavu-core      train: their letters
LIST
}

missing() {
  local wanted installed
  wanted=$(list | awk '{print $1}' | sort)
  # dpkg-query fails when it has never heard of a package, and lists the others all the same.
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
# packages are set up, and the service is left disabled. A policy that is there already is left alone.
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
# The package lists are fetched only when the ones here do not lead to the packages.
install "$@" || { apt-get update -qq </dev/null && install "$@"; }
case " $* " in
*" openssh-server "*) if [ -d /run/systemd/system ]; then systemctl --quiet disable ssh || true; fi ;;
esac
INSTALL
}

case "${1:-}" in
--list) list && exit ;;
"" | --check) ;;
*) fail "unknown option $1; there are --check and --list" ;;
esac
[ -z "${TUTTI_SKIP_DEPS:-}" ] || exit 0
command -v dpkg-query >/dev/null ||
  fail "this is not a Debian system. Provide what '$0 --list' names, then set TUTTI_SKIP_DEPS=1."

mapfile -t packages < <(missing)
[ ${#packages[@]} -gt 0 ] || exit 0
command="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
[ "${1:-}" != --check ] || fail "missing: ${packages[*]}" "install with: $command"

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
  fail "the packages could not be installed. Run as root and read its words:" "  $command"
}
mpirun --version 2>/dev/null | grep -q "Open MPI" ||
  echo "install-deps: mpirun is not Open MPI's; the tests expect it: update-alternatives --auto mpirun" >&2
