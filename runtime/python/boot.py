"""The zygote's Python side: imports, rehearses, and hands over to C for good.

Runs inside the outer sandbox as `python -s -P -B -X utf8 /opt/mayfly/boot.py`. A guest is a fork of this process, so
whatever is imported or cached here is there in every guest at no cost, and nothing here may hold data of a task.
"""
import sys

sys.path.insert(0, "/opt/mayfly")
import _mayfly  # noqa: E402

began = _mayfly.now_us()


def main():
    config = _mayfly.configure()
    import hooks

    libraries = hooks.Hooks(_mayfly.is_own_fork, _mayfly.call_hooks)
    libraries.begin()
    import gc
    import io
    import multiprocessing
    import os
    import random
    import threading

    mpl_names = tuple(sorted(os.listdir("/opt/mpl")))[:8] if os.path.isdir("/opt/mpl") else ()
    for name in mpl_names:
        os.symlink(f"/opt/mpl/{name}", f"/mnt/mpl/{name}")
    import display
    import figures
    import warmup

    figures.expect("/mnt/data")
    warmup.import_stdlib()
    numpy_seed = warmup.import_data() if config["data"] else None
    finish = libraries.end()
    urandom, from_bytes, main_process = os.urandom, int.from_bytes, multiprocessing.current_process()
    random_seed, set_native_id = random.seed, getattr(threading.main_thread(), "_set_native_id", None)

    def prepare():
        # All that the fork hooks would have done for us (see hooks.py), and what nobody does.
        random_seed()
        if set_native_id is not None:
            set_native_id()
        if numpy_seed is not None:
            numpy_seed(from_bytes(urandom(4), "little"))
        # Made when multiprocessing was imported: a secret between the processes of one program, not of all guests.
        main_process.authkey = urandom(32)

    if config["warm"]:
        warmup.rehearse(config["data"], _mayfly.fake_fork)
    warmup.forget()
    # Guests write through these: text as UTF-8, a line at a time, so that output is seen as it is printed and none is
    # lost when a limit ends the program.
    for name, fd in (("stdout", 1), ("stderr", 2)):
        raw = io.open(fd, "wb", buffering=8192, closefd=False)
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=True)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(
        io.open(0, "rb", closefd=False), encoding="utf-8", errors="surrogateescape")
    sys.stdin.mode = "r"

    serve, immortal, rehearse = _mayfly.serve, _mayfly.immortal, _mayfly.rehearse
    # Guests must find neither this module nor its folder.
    sys.path[:] = [p for p in sys.path if p != "/opt/mayfly"]
    sys.path_importer_cache.pop("/opt/mayfly", None)
    for name in ("_mayfly", "warmup", "display", "figures", "hooks"):
        sys.modules.pop(name, None)
    rehearse(prepare, finish, gc.collect, display.split)
    gc.collect()
    if config["warm"]:
        immortal(gc.get_objects())
    gc.collect()
    gc.freeze()
    serve(mpl_names, began)


try:
    main()
except BaseException as e:  # noqa: BLE001 - whatever it is, the supervisor must be told
    import traceback

    where = traceback.extract_tb(e.__traceback__)[-1]
    _mayfly.fatal("boot", f"{type(e).__name__}: {e} ({where.filename}:{where.lineno})"[:230])
