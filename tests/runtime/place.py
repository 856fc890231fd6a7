#!/usr/bin/env python3
"""scripts/build-runtime.py puts a runtime where something is already: what it replaces, what it leaves, what it refuses."""
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests" / "lib"))
from tap import Tap  # noqa: E402

SCRIPT = TOP / "scripts" / "build-runtime.py"


def script():
    spec = importlib.util.spec_from_file_location("build_runtime", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(folder, **files):
    for name, text in files.items():
        p = folder / name.replace("__", "/").replace("manifest_json", "manifest.json")
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_text(text)
    return folder


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def replaced(tap, build, scratch):
    meson = make(scratch / "build" / "runtime", zygote__module="built", wasm__engine="built")
    tap.ok(build.may_be_replaced(meson), "a build folder that was built before its runtime is no obstacle")
    build.put_in_place(make(scratch / "new1", manifest_json="1", rootfs__python="1"), meson, scratch / "old1")
    tap.ok(names(meson) == ["manifest.json", "rootfs", "wasm", "zygote"] and (meson / "zygote" / "module").read_text() == "built",
           "meson's folders stay", names(meson))
    tap.ok(build.may_be_replaced(meson), "a runtime is replaced")
    build.put_in_place(make(scratch / "new2", manifest_json="2", rootfs__other="2"), meson, scratch / "old2")
    tap.ok((meson / "manifest.json").read_text() == "2" and names(meson / "rootfs") == ["other"] and "zygote" in names(meson),
           "nothing of the runtime before is left, and meson's folders stay again", names(meson))
    none = scratch / "none"
    tap.ok(build.may_be_replaced(none), "nothing is no obstacle")
    build.put_in_place(make(scratch / "new3", manifest_json="3"), none, scratch / "old3")
    tap.ok(names(none) == ["manifest.json"], "and becomes the runtime")
    links = scratch / "links"
    links.mkdir()
    (links / "manifest.json").symlink_to(scratch / "gone")
    (links / "rootfs").symlink_to(meson / "rootfs")
    tap.ok(build.may_be_replaced(links), "links to a runtime that is gone are no obstacle")
    build.put_in_place(make(scratch / "new4", manifest_json="4", rootfs__python="4"), links, scratch / "old4")
    tap.ok((links / "manifest.json").read_text() == "4" and names(meson / "rootfs") == ["other"], "what they name is left alone")


def refused(tap, scratch):
    foreign = make(scratch / "foreign", zygote__module="built", letters="mine")
    done = subprocess.run([sys.executable, str(SCRIPT), "--out", str(foreign), "--quiet"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    tap.ok(done.returncode == 1 and "%s exists and is not a runtime" % foreign in done.stderr and
           names(foreign) == ["letters", "zygote"], "a folder of somebody's is refused and left as it is", done)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as d:
        replaced(tap, script(), Path(d))
        refused(tap, Path(d))
    sys.exit(tap.done())


main()
