#!/usr/bin/env bash
# Runs image-program.py inside the runtime image with nothing of the host in sight: a changed root and an empty
# environment, in namespaces that an ordinary user may make. Argument: the runtime's folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runtime=${1:?usage: test-image.sh RUNTIME_DIR}
root=$runtime/rootfs
PATH=$PATH:/usr/sbin:/sbin # chroot is there

skip() {
  if [ -n "${MF_MUST_WORK:-}" ]; then
    printf '1..1\nnot ok 1 - the image\n# %s\n' "$1"
    exit 1
  fi
  echo "1..0 # SKIP $1"
  exit 0
}

[ -d "$root" ] || skip "no runtime at $runtime (scripts/setup-runtime makes it)"
unshare --user --map-root-user --mount true 2>/dev/null || skip "this machine forbids user namespaces"
python=$(sed -n 's/^ *"python": "\(.*\)",$/\1/p' "$runtime/manifest.json")

exec unshare --user --map-root-user --mount bash -c '
  set -e
  root=$1 python=$2 program=$3
  mount -t tmpfs tmpfs "$root/mnt"
  mkdir "$root/mnt/tmp" "$root/mnt/shm" "$root/mnt/data" "$root/mnt/tmp/mpl"
  cp "$program" "$root/mnt/program.py"
  for f in "$root"/opt/mpl/*.json; do ln -s "/opt/mpl/${f##*/}" "$root/mnt/tmp/mpl/"; done
  for d in null zero urandom random; do mount --bind "/dev/$d" "$root/dev/$d"; done
  exec env -i HOME=/mnt/data LANG=C.UTF-8 PYTHONUTF8=1 MPLCONFIGDIR=/mnt/tmp/mpl MATPLOTLIBRC=/opt/mpl/matplotlibrc \
    OPENBLAS_NUM_THREADS=1 "$(command -v chroot)" "$root" "$python" -s -P /mnt/program.py
' bash "$root" "$python" "$here/image-program.py"
