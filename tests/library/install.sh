#!/usr/bin/env bash
# install.sh BUILD SOURCE: as a user of the library: installed into a scratch folder, found by pkg-config, the example
# compiled against it and run. TAP.
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 1..3

DESTDIR=$scratch meson install -C "$build" --no-rebuild --quiet >"$scratch/log" 2>&1 || { sed 's/^/# /' "$scratch/log"; echo "not ok 1 - installs"; exit 1; }
pc=$(find "$scratch" -name mayfly.pc)
[ -n "$pc" ] && echo "ok 1 - installs" || { echo "not ok 1 - installs"; exit 1; }

export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$scratch
# shellcheck disable=SC2046 # flags are words
if cc -std=c11 -Wall -Wextra -Werror "$source/examples/library/groupby.c" $(pkg-config --cflags --libs mayfly) -o "$scratch/groupby" 2>"$scratch/log"; then
  echo "ok 2 - the example compiles"
else
  sed 's/^/# /' "$scratch/log"
  echo "not ok 2 - the example compiles"
  exit 1
fi

lib=$(dirname "$(find "$scratch" -name 'libmayfly.so.0')")
want=$'{\'north\': 8, \'south\': 4}\ntotals.csv, 29 bytes:\nregion,units\nnorth,8\nsouth,4'
got=$(LD_LIBRARY_PATH=$lib "$scratch/groupby" 2>&1) || true
if [ "$got" = "$want" ]; then
  echo "ok 3 - the example runs"
else
  printf '%s\n' "$got" | sed 's/^/# /'
  echo "not ok 3 - the example runs"
fi
