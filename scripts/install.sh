#!/usr/bin/env bash
# scripts/install.sh PREFIX [BUILD]: installs the build, and prints how to link programs with libddl.so.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${1:?usage: scripts/install.sh PREFIX [BUILD]}
build=${2:-build}
cmake --install "$build" --prefix "$prefix" >"$build/install.log" || { tail -n 20 "$build/install.log" >&2; exit 1; }
library=$(find "$prefix" -name libddl.so -print -quit)
library=$(cd "$(dirname "$library")" && pwd)
echo "installed under $prefix"

# The loader reads its cache instead of the directories; only root can update it.
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
[ "$(id -u)" != 0 ] || "$ldconfig"
if "$ldconfig" -p | grep -q " $library/libddl.so"; then
  echo "C programs: cc my_program.c -lddl"
else
  echo "C programs: cc my_program.c -I$prefix/include -L$library -lddl -Wl,-rpath,$library"
fi
