#!/usr/bin/env bash
# scripts/build.sh PRESET [target or option of ninja ...]: installs missing packages, configures if needed, builds.
# TUTTI_PACKAGES is the group of packages to install (see install-deps.sh); the default is test.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-}
case $preset in
  "" | -*) echo "usage: scripts/build.sh PRESET [target ...]" >&2; exit 2 ;;
esac
shift
packages=${TUTTI_PACKAGES:-test}
scripts/install-deps.sh --for "$packages"

folder=build
[ "$preset" = release ] || folder=build-$preset
# Ninja reconfigures by itself when a CMakeLists.txt changes. It does not know the presets, nor packages that were
# missing before, so a build with more packages than the last one is configured again.
configured=$(cat "$folder/packages" 2>/dev/null || true)
if [ ! -e "$folder/build.ninja" ] || [ CMakePresets.json -nt "$folder/build.ninja" ] ||
  { [ "$configured" = build ] && [ "$packages" != build ]; }; then
  mkdir -p "$folder"
  echo "$packages" >"$folder/packages"
  cmake --preset "$preset" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
fi

# One compiler process needs up to 1.5 GiB of memory.
available_gib=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
jobs=$((available_gib * 2 / 3))
[ "$jobs" -le "$(nproc)" ] || jobs=$(nproc)
[ "$jobs" -ge 1 ] || jobs=1

# The cache serves every clone of the source.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
# Without these settings ccache does not cache files with a precompiled header.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
exec ninja -C "$folder" -j "$jobs" "$@"
