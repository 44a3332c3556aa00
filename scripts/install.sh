#!/usr/bin/env bash
# scripts/install.sh PREFIX [BUILD]: installs what was built, and makes sure that programs find libddl.so or says how.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=${1:?usage: scripts/install.sh PREFIX [BUILD]}
build=${2:-build}
cmake --install "$build" --prefix "$prefix" >"$build/install.log" || { tail -n 20 "$build/install.log" >&2; exit 1; }
library=$(find "$prefix" -name libddl.so -print -quit)
library=$(cd "$(dirname "$library")" && pwd)
echo "installed under $prefix"

# The loader reads its cache, not the folders, so a new library must be entered. Only root can do that.
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
[ "$(id -u)" != 0 ] || "$ldconfig"
if "$ldconfig" -p | grep -q " $library/libddl.so"; then
  echo "C programs: cc my_program.c -lddl"
else
  echo "C programs: cc my_program.c -I$prefix/include -L$library -lddl -Wl,-rpath,$library"
fi
