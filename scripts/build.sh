#!/usr/bin/env bash
# scripts/build.sh PRESET [target or option of ninja ...]: installs missing packages, configures if needed, builds.
# TUTTI_PACKAGES is the group of packages to install (see install-deps.sh); the default is test.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/build.sh PRESET [target ...]}
shift
packages=${TUTTI_PACKAGES:-test}
scripts/install-deps.sh --for "$packages"

folder=build
[ "$preset" = release ] || folder=build-$preset
# Ninja reconfigures by itself when a CMakeLists.txt changes. It does not know the presets, nor packages that were
# missing before: a build with more packages than the last one has to look for them.
configured=$(cat "$folder/packages" 2>/dev/null || true)
if [ ! -e "$folder/build.ninja" ] || [ CMakePresets.json -nt "$folder/build.ninja" ] ||
  { [ "$configured" = build ] && [ "$packages" != build ]; }; then
  mkdir -p "$folder"
  echo "$packages" >"$folder/packages"
  cmake --preset "$preset" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
fi

# A compiler of this project takes up to 1.5 GiB: more of them than memory allows would only swap.
available_gib=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
jobs=$((available_gib * 2 / 3))
[ "$jobs" -le "$(nproc)" ] || jobs=$(nproc)
[ "$jobs" -ge 1 ] || jobs=1

# The cache serves every clone of the source, wherever it lies.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
# Without these it does not keep what was compiled with a precompiled header.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
exec ninja -C "$folder" -j "$jobs" "$@"
