#!/usr/bin/env python3
"""`mayfly doctor`: on this machine, with each layer made to fail, and behind real obstacles built around it."""
import ctypes
import ctypes.util
import json
import os
import subprocess
import sys

from command import OURS, Place, environment, one_line

import leaks
import places
import tap

# bit (enum mf_layer), doctor's row, what `run` says
LAYERS = [
    (0, "user namespace", "unshare user: Operation not permitted"),
    (1, "pid namespace", "unshare pid: Operation not permitted"),
    (2, "mount namespace", "unshare mount: Operation not permitted"),
    (3, "network namespace", "unshare network: Operation not permitted"),
    (4, "ipc namespace", "unshare ipc: Operation not permitted"),
    (5, "uts namespace", "unshare uts: Operation not permitted"),
    (7, "landlock", "landlock: "),
    (8, "seccomp", "seccomp: "),
    (9, "no_new_privs", "no_new_privs: "),
    (10, "capabilities", "drop capabilities: "),
    (11, "rlimits", "rlimits: "),
]
ROWS = ["user namespace", "pid namespace", "mount namespace", "network namespace", "ipc namespace", "uts namespace", "proc",
        "pivot_root", "no_new_privs", "capabilities", "rlimits", "seccomp", "landlock", "pidfd", "memfd", "openat2",
        "close_range", "cgroup", "huge pages", "runtime", "CJK font", "checkpoint", "whole sandbox"]
DOCKER = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined"


def table(done):
    """(ok, {layer: row}) of --json, of the local provider."""
    answer = json.loads(done.stdout)
    return answer["ok"], {row["layer"]: row for row in answer["rows"] if row["provider"] == "local"}


def check_here(t, place):
    """False when this machine cannot run sandboxes: nothing more can be seen then."""
    before = leaks.Snapshot()
    done = place.run("doctor", "--json")
    ok, rows = table(done)
    if not ok:
        bad = ["%s: %s; %s" % (r["layer"], r["detail"], r["remedy"]) for r in rows.values() if r["state"] == "fail"]
        t.check("a refusal has a reason and a remedy", [] if done.returncode == 1 and bad else [done])
        t.note("this machine cannot run sandboxes:\n" + "\n".join(bad))
        return False
    problems = [] if done.returncode == 0 and not done.stderr else [done]
    if list(rows) != ROWS:
        problems.append(list(rows))
    problems += ["%r" % r for r in rows.values() if r["state"] == "fail" or not r["detail"]]
    problems += ["%r" % r for r in rows.values() if (r["state"] == "ok") != (r["remedy"] == "") and r["layer"] != "checkpoint"]
    t.check("all is well here", problems + before.left())

    done = place.run("doctor")
    text = done.stdout.decode()
    problems = [] if done.returncode == 0 and "full isolation" in text and "\x1b" not in text else [done]
    columns = {line.index(rows[name]["detail"][:8]) for line in text.splitlines() for name in ROWS[:6]
               if line.startswith("\u2713 %s " % name)}
    if columns != {22}:
        problems.append("columns %s" % columns)
    t.check("aligned rows for people", problems)

    done = place.run("doctor", "--json", "--runtime", place.path)
    ok, rows = table(done)
    t.check("a missing runtime", [] if (done.returncode, ok, rows["runtime"]["state"]) == (1, False, "fail")
            and "scripts/setup-runtime" in rows["runtime"]["remedy"] and "whole sandbox" not in rows else [rows])
    ok, rows = table(place.run("doctor", "--json", "--no-cgroup"))
    t.check("without cgroups it is a warning", [] if ok and rows["cgroup"]["state"] == "warn" else [rows["cgroup"]])
    return True


def check_wasm(t, place):
    """The rows of the other provider, be it built in or not."""
    done = place.run("doctor", "--json")
    both = json.loads(done.stdout)
    done = place.run("doctor", "--json", "--provider", "wasm")
    answer = json.loads(done.stdout)
    rows = {row["layer"]: row for row in answer["rows"]}
    problems = [] if [r for r in both["rows"] if r["provider"] == "wasm" and r["layer"] in rows] else [both]
    if {r["provider"] for r in answer["rows"]} != {"wasm"} or answer["ok"] != answer["wasm"]["ok"] or \
            done.returncode != (0 if answer["ok"] else 1):
        problems.append(done)
    if not answer["wasm"]["built"]:
        row = rows["wasm provider"]
        if answer["ok"] or list(rows) != ["wasm provider"] or row["state"] != "fail" or "make wasm" not in row["remedy"]:
            problems.append(answer)
        t.check("wasm: this program has it not, and says how to have it", problems)
        return
    names = ["wasm provider", "wasm runtime", "wasm worker", "wasm seccomp", "wasm memory"]
    if answer["ok"] and (list(rows) != names or [r for r in rows.values() if r["state"] == "fail" or not r["detail"]]):
        problems.append(rows)
    if answer["ok"] and not (answer["wasm"]["digest"].startswith("sha256:") and answer["wasm"]["digest"] in
                             rows["wasm runtime"]["detail"] and answer["wasm"]["python"] and answer["wasm"]["wasmtime"]):
        problems.append(answer["wasm"])
    if not answer["ok"]:
        t.note("this machine cannot run the wasm provider: %s" % rows)
        problems += ["no remedy: %s" % r for r in rows.values() if r["state"] == "fail" and not r["remedy"]]
    t.check("wasm: its rows", problems)
    done = place.run("doctor", "--json", "--provider", "wasm", "--wasm-runtime", place.path)
    rows = {row["layer"]: row for row in json.loads(done.stdout)["rows"]}
    t.check("wasm: a missing runtime", [] if done.returncode == 1 and rows["wasm runtime"]["state"] == "fail"
            and "scripts/setup-wasm-runtime" in rows["wasm runtime"]["remedy"] and "wasm worker" not in rows else [rows])


def check_layers(t, place):
    place.file("a.py", "print(1)")
    for bit, name, words in LAYERS:
        before = leaks.Snapshot()
        disable = ["--test-disable-layers", str(1 << bit)]
        problems = one_line(place.run("run", "a.py", *disable), words)
        done = place.run("doctor", "--json", *disable)
        ok, rows = table(done)
        if done.returncode != 1 or ok:
            problems.append("doctor says ok")
        for row in (name, "whole sandbox"):
            if rows[row]["state"] != "fail" or not rows[row]["remedy"]:
                problems.append(rows[row])
        if words.split(":")[0] not in rows["whole sandbox"]["detail"]:
            problems.append(rows["whole sandbox"])
        if rows[name]["remedy"][:40] in rows["whole sandbox"]["detail"]:
            problems.append(["a remedy told twice", rows["whole sandbox"]])
        others = [r["layer"] for r in rows.values() if r["state"] == "fail" and r["layer"] not in (name, "whole sandbox")]
        if others and name != "user namespace":
            problems.append("also failed: %s" % others)
        t.check("without %s require refuses" % name, problems + before.left())


def check_prefer(t, place):
    disable = ["--test-disable-layers", "1", "--isolation", "prefer"]
    done = place.run("run", "a.py", *disable)
    lines = done.stderr.splitlines()
    t.check("prefer runs and warns once", [] if (done.returncode, done.stdout, len(lines)) == (0, b"1\n", 1)
            and b"WITHOUT ISOLATION" in lines[0] else [done])
    done = place.run("run", "a.py", "--json", *disable)
    isolation = json.loads(done.stdout)["receipt"]["isolation"]
    t.check("its receipt says so", [] if isolation == "none" else [isolation])
    place.file("plot.py", "import matplotlib.pyplot as p\np.title('\u9500\u552e')\np.savefig('a.png')\n")
    done = place.run("run", "plot.py", *disable)
    t.check("its plots have the fonts of the runtime",
            [] if done.returncode == 0 and b"Glyph" not in done.stderr and b"findfont" not in done.stderr else [done])


# ---- real obstacles, each in a process tree of its own ----

def behind(place, prepare, *words, enter=()):
    """Runs mayfly after the shell commands `prepare`, inside `enter`."""
    return subprocess.run([*enter, "sh", "-c", prepare + '\nexec "$0" "$@"', places.mayfly(), *words], cwd=place.path,
                          env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, check=False)


def can(*enter):
    return subprocess.run([*enter, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def check_sysctl(t, place):
    name = "user.max_user_namespaces = 0"
    if not can("unshare", "-Ur"):
        t.skip(name, "no user namespace can be made here")
        return
    # The limit is kept for each user namespace, so the machine's own is left alone.
    prepare = "echo 0 > /proc/sys/user/max_user_namespaces"
    ok, rows = table(behind(place, prepare, "doctor", "--json", enter=("unshare", "-Ur")))
    remedy = "sudo sysctl -w user.max_user_namespaces=15000"
    row = rows["user namespace"]
    t.check(name, [] if not ok and row["state"] == "fail" and remedy in row["remedy"] else [row])
    done = behind(place, prepare, "run", "a.py", enter=("unshare", "-Ur"))
    t.check(name + ": run refuses with the remedy", one_line(done, remedy))


def check_masked_proc(t, place):
    name = "masked /proc"
    enter = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-Urm")
    if not can(*enter):
        t.skip(name, "no mount namespace can be made here")
        return
    # Another whole /proc (of a folder that is entered with chroot, say) is enough to mount a new one beside a masked one.
    prepare = ("while read -r _ at type _; do case $type:$at in proc:/proc) ;; proc:*) umount -l \"$at\" ;; esac; done "
               "</proc/mounts; mount --bind /dev/null /proc/kcore 2>/dev/null || mount --bind /dev/null /proc/version")
    done = behind(place, prepare, "doctor", "--json", enter=enter)
    ok, rows = table(done)
    row = rows["proc"]
    problems = [] if row["state"] == "warn" and "masked" in row["remedy"] else [row]
    if not ok or done.returncode != 0:
        problems += [r for r in rows.values() if r["state"] == "fail"]
    t.check(name + " is a warning: a sandbox without /proc works", problems)
    t.check(name + ": a program runs", [] if behind(place, prepare, "run", "a.py", enter=enter).stdout == b"1\n" else ["no"])


def check_chroot(t, place):
    name = "a chroot"
    if os.geteuid() != 0:
        t.skip(name, "only root can make one")
        return
    root = os.path.join(place.path, "root")
    parts = ["usr", "lib", "lib64", "bin", "etc", "proc", "sys", "dev", "tmp", places.BUILD.strip("/")]
    prepare = "".join("mkdir -p %s/%s && mount --rbind /%s %s/%s\n" % (root, p, p, root, p) for p in parts
                      if os.path.isdir("/" + p))
    done = subprocess.run(["unshare", "-m", "sh", "-c", prepare + 'exec chroot %s "$0" doctor --json' % root,
                           places.mayfly()], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    try:
        ok, rows = table(done)
    except ValueError:
        t.check(name, [done])
        return
    row = rows["user namespace"]
    t.check(name, [] if not ok and row["state"] == "fail" and "chroot" in row["remedy"] else [row])


class _Arg(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def like_docker():
    """What Docker's default profile does to a process without CAP_SYS_ADMIN: EPERM for namespaces and mounts, ENOSYS for
    clone3 (so that the C library falls back to clone)."""
    lib = ctypes.CDLL(ctypes.util.find_library("seccomp") or "libseccomp.so.2", use_errno=True)
    lib.seccomp_init.restype = ctypes.c_void_p
    errno_eperm, errno_enosys = 0x00050000 | 1, 0x00050000 | 38
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(0x7FFF0000)))
    for call in b"unshare setns mount umount2 pivot_root fsopen fsmount move_mount open_tree mount_setattr".split():
        lib.seccomp_rule_add(context, ctypes.c_uint32(errno_eperm), lib.seccomp_syscall_resolve_name(call), 0)
    namespace = (_Arg * 1)(_Arg(0, 7, 0x10000000, 0x10000000))  # masked equal: CLONE_NEWUSER
    lib.seccomp_rule_add_array(context, ctypes.c_uint32(errno_eperm), lib.seccomp_syscall_resolve_name(b"clone"), 1, namespace)
    lib.seccomp_rule_add(context, ctypes.c_uint32(errno_enosys), lib.seccomp_syscall_resolve_name(b"clone3"), 0)
    if lib.seccomp_load(context) != 0:
        os._exit(99)


def check_docker(t, place):
    name = "Docker's default seccomp profile"

    def run(*words):
        return subprocess.run([places.mayfly(), *words], cwd=place.path, env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False,
                              preexec_fn=like_docker)

    try:
        done = run("doctor", "--json")
    except (OSError, subprocess.SubprocessError) as e:
        t.skip(name, "libseccomp cannot be loaded: %s" % e)
        return
    ok, rows = table(done)
    row = rows["user namespace"]
    # The exact words depend on the container that this machine is in, if any.
    known = [DOCKER, "podman run --security-opt seccomp=unconfined", "seccompProfile: {type: Unconfined}"]
    problems = [] if not ok and row["state"] == "fail" and any(k in row["remedy"] for k in known) else [row]
    if "a seccomp filter is around this process" not in row["detail"]:
        problems.append(row)
    t.check(name, problems)
    done = run("run", "a.py")
    t.check(name + ": run refuses with the remedy", [] if done.returncode == OURS and not done.stdout
            and any(k.encode()[:60] in done.stderr for k in known) else [done])


def main():
    places.need("mayfly", "zygote", "runtime")
    leaks.adopt_orphans()
    t = tap.Tap()
    with Place() as place:
        check_wasm(t, place)
        if "wasm" not in sys.argv and check_here(t, place):
            check_layers(t, place)
            check_prefer(t, place)
            before = leaks.Snapshot()
            check_sysctl(t, place)
            check_masked_proc(t, place)
            check_chroot(t, place)
            check_docker(t, place)
            t.check("nothing is left of it all", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
