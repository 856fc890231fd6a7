#!/usr/bin/env python3
"""`mayfly run` with a real sandbox: exit statuses, live output, files, signals, and what it leaves behind.

    run.py [--through server]    the same with a `mayfly serve` of this user that does the work
"""
import argparse
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

from command import NOBODY, OURS, OVER, Place, environment, one_line

import gateway
import leaks
import places
import tap

PROMPT_S = 60  # for what takes no time on an idle machine; nothing here measures speed


def lines(data):
    return data.decode(errors="replace").splitlines()


def expect(done, status, stdout=None, stderr=None):
    problems = []
    if done.returncode != status:
        problems.append("exit status %r, not %r" % (done.returncode, status))
    if stdout is not None and done.stdout != stdout:
        problems.append("standard output %r" % done.stdout[:300])
    if stderr is not None and done.stderr != stderr:
        problems.append("standard error %r" % done.stderr[:600])
    return problems or []


# ---- exit statuses and words ----

ENDS = [
    # name, source, words after the file, exit status, standard output, standard error (None: not looked at)
    ("success", "print(6 * 7)", [], 0, b"42\n", b""),
    ("an empty program", "", [], 0, b"", b""),
    ("its own exit status", "raise SystemExit(3)", [], 3, b"", b""),
    ("exit status 255", "import os; os._exit(255)", [], 255, b"", b""),
    ("an exception", "print('a')\n1 / 0", [], 1, b"a\n", None),
    ("a signal", "import os; os.abort()", [], 134, b"", b"mayfly: ended by signal 6 SIGABRT\n"),
    ("a segmentation fault", "import ctypes; ctypes.string_at(0)", [], 139, b"", b"mayfly: ended by signal 11 SIGSEGV\n"),
    ("its time", "import time\nprint('one')\ntime.sleep(60)", ["--timeout", "1000"], 124, b"one\n",
     b"mayfly: timed out after 1000 ms\n"),
    ("its memory", "x = [bytearray(1 << 20) for i in range(1000)]", ["--memory", "128"], 137, b"", None),
    ("its processor time", "while True: pass", ["--cpu", "500"], 152, b"",
     b"mayfly: stopped: used the 500 ms of processor time that it may have\n"),
    ("standard error apart", "import sys; print('o'); print('e', file=sys.stderr)", [], 0, b"o\n", b"e\n"),
    ("output over its limit", "print('x' * 5000)", ["--output-limit", "100"], 0, b"x" * 100,
     b"mayfly: standard output was cut at its limit of 100 bytes\n"),
    ("arguments", "import sys; print(sys.argv[1:])", ["--", "--json", "-f", "", "\u2615"], 0,
     "['--json', '-f', '', '\u2615']\n".encode(), b""),
    ("no argument is lost after --", "import sys; print(sys.argv[1:])", ["--", "--"], 0, b"['--']\n", b""),
    ("a refused connection is named",
     "import socket\ntry: socket.create_connection(('203.0.113.7', 443))\nexcept OSError: raise SystemExit(4)", [], 4, b"",
     b"mayfly: refused: network is disabled: 203.0.113.7:443\n"),
]


def check_ends(t):
    for name, source, words, status, stdout, stderr in ENDS:
        with Place() as place:
            place.file("a.py", source)
            t.check(name, expect(place.run("run", "a.py", *words), status, stdout, stderr))
    with Place() as place:
        done = place.run("run", "-", stdin=b"import sys; print(sys.stdin.read() == '', __name__)")
        t.check("a program from standard input", expect(done, 0, b"True __main__\n", b""))
        place.file("a.py", "1 / 0\n")
        done = place.run("run", "a.py")
        t.check("a traceback names the program and line", [] if b'a.py", line 1' in done.stderr
                and b"ZeroDivisionError" in done.stderr else [done.stderr])
        read, write = os.pipe()
        os.write(write, b"print('piped')\n")
        os.close(write)
        done = subprocess.run([places.mayfly(), "run", "/dev/fd/%d" % read], env=environment(), cwd=place.path,
                              pass_fds=[read], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=PROMPT_S, check=False)
        os.close(read)
        t.check("a program from a pipe", expect(done, 0, b"piped\n", b""))


# ---- files ----

MAKE = """import os, sys
print(sorted(os.listdir('.')))
os.makedirs('sub/deep')
open('a.csv', 'w').write('x\\n1\\n')
open('sub/deep/b.txt', 'w').write('b')
"""


def check_files(t):
    with Place() as place:
        place.file("make.py", MAKE)
        place.file("in put.csv", "1\n")
        done = place.run("run", "make.py", "-f", "in put.csv", "-f", "in put.csv:data/two.csv", "-o", "out/x")
        t.check("inputs go in and artifacts come out",
                expect(done, 0, b"['data', 'in put.csv']\n",
                       b"mayfly: wrote out/x/a.csv (4 bytes, text/csv)\n"
                       b"mayfly: wrote out/x/sub/deep/b.txt (1 byte, text/plain; charset=utf-8)\n")
                or ([] if place.names() == ["in put.csv", "make.py", "out", "out/x", "out/x/a.csv", "out/x/sub",
                                            "out/x/sub/deep", "out/x/sub/deep/b.txt"]
                    and place.read("out/x/a.csv") == b"x\n1\n" else [place.names()]))
    with Place() as place:
        place.file("quiet.py", "print(open('in.csv').read())")
        place.file("in.csv", "1")
        done = place.run("run", "quiet.py", "-f", "in.csv")
        t.check("no folder without artifacts", expect(done, 0, b"1\n", b"") or
                ([] if place.names() == ["in.csv", "quiet.py"] else [place.names()]))
    with Place() as place:
        place.file("make.py", "open('a', 'w').write('new')")
        done = place.run("run", "make.py")
        t.check("the default folder", expect(done, 0) or ([] if place.read("mayfly-out/a") == b"new" else ["content"]))
        done = place.run("run", "make.py")
        t.check("an earlier run's files in the default folder are replaced", expect(done, 0) or
                ([] if place.names() == ["make.py", "mayfly-out", "mayfly-out/a"] else [place.names()]))
    with Place() as place:
        place.file("make.py", "open('notes.txt', 'w').write('new')\nopen('b', 'w').write('2')")
        place.file("notes.txt", "mine")
        for words, folder in ((["-o", "."], "./mayfly-out-1"), (["-o", ".", "--json"], "./mayfly-out-2")):
            done = place.run("run", "make.py", *words)
            problems = expect(done, OURS, None if "--json" in words else b"",
                              b"mayfly: ./notes.txt exists already: nothing was replaced (--force does); "
                              b"the files are in %s\n" % folder.encode())
            if place.read("notes.txt") != b"mine" or place.read(folder + "/notes.txt") != b"new":
                problems.append(place.names())
            t.check("no file of the person's is replaced unasked (%s)" % " ".join(words), problems)
        done = place.run("run", "make.py", "-o", ".", "--force")
        t.check("with --force it is", expect(done, 0, b"", b"mayfly: wrote ./b (1 byte, text/plain; charset=utf-8)\n"
                b"mayfly: wrote ./notes.txt (3 bytes, text/plain; charset=utf-8)\n")
                or ([] if place.read("notes.txt") == b"new" else ["content"]))
        done = place.run("run", "make.py", "-o", "empty")
        t.check("an output folder without such a file", expect(done, 0) or
                ([] if place.read("empty/b") == b"2" else ["content"]))
    with Place() as place:
        place.file("make.py", "import os\nos.mkdir('d')\nopen('d/a', 'w').write('1')\nopen('b', 'w').write('2')")
        os.mkdir(os.path.join(place.path, "mayfly-out"))
        os.mkdir(os.path.join(place.path, "victim"))
        os.symlink("../victim", os.path.join(place.path, "mayfly-out", "d"))
        done = place.run("run", "make.py")
        t.check("no link below the folder is followed",
                one_line(done, "mayfly-out/d: is a symbolic link") or
                ([] if place.names() == ["make.py", "mayfly-out", "mayfly-out/d", "victim"] else [place.names()]))
    with Place() as place:
        place.file("make.py", "import os\nos.symlink('/etc/passwd', 'l')\nopen('a', 'w').write('1')\nraise SystemExit(5)")
        done = place.run("run", "make.py")
        t.check("a failed program's files come too, its links do not",
                expect(done, 5, b"", b"mayfly: not taken: l: symbolic link\n"
                                     b"mayfly: wrote mayfly-out/a (1 byte, text/plain; charset=utf-8)\n"))


def check_disk(t):
    """A full disk and a read-only one: small file systems in a mount namespace of their own."""
    enter = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    with Place() as place:
        for name in ("small", "ro"):
            os.mkdir(os.path.join(place.path, name))
        place.file("make.py", "open('a', 'w').write('x' * 100)\nopen('big', 'w').write('x' * 300000)\nprint('made')")
        place.file("print.py", "print(1)")
        prepare = "mount -t tmpfs -o size=64k tmpfs small && mount -t tmpfs tmpfs ro && mount -o remount,ro ro && "

        def inside(script):
            return subprocess.run([*enter, "sh", "-c", prepare + script, places.mayfly()], cwd=place.path,
                                  env=environment({"HOME": os.path.join(place.path, "ro")}), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PROMPT_S, check=False)

        if inside("true").returncode != 0:
            t.skip("no free disk, read-only disk", "no mount namespace can be made here")
            return
        done = inside('"$0" run make.py -o small/out; s=$?; find small; exit $s')
        problems = expect(done, OURS, b"made\nsmall\n")
        if lines(done.stderr) != ["mayfly: write small/out/big: No space left on device"]:
            problems.append(done.stderr)
        t.check("no free disk: nothing half-written", problems)
        done = inside('cd ro && "$0" run ../print.py')
        t.check("a read-only home and folder do no harm", expect(done, 0, b"1\n", b""))
        done = inside('cd ro && "$0" run ../make.py')
        t.check("artifacts into a read-only folder",
                expect(done, OURS, b"made\n", b"mayfly: make directory mayfly-out: Read-only file system\n"))


def check_user(t):
    if os.geteuid() != 0:
        t.skip("as an ordinary user", "the whole suite runs as one")
        return
    with Place() as place:
        place.file("make.py", "import os\nopen('a', 'w').write('1')\nprint(os.getuid() != 0)")
        os.mkdir(os.path.join(place.path, "mine"), 0o755)
        os.chown(os.path.join(place.path, "mine"), NOBODY, NOBODY)
        if place.run("version", user=NOBODY).returncode != 0:
            t.skip("as an ordinary user", "an ordinary user cannot reach the built program")
            return
        done = place.run("run", "make.py", "-o", "mine/out", user=NOBODY)
        t.check("as an ordinary user", expect(done, 0, b"True\n") or
                ([] if place.read("mine/out/a") == b"1" else ["no artifact"]))
        done = place.run("run", "make.py", "-o", "other/out", user=NOBODY)
        t.check("no permission to make the output folder",
                expect(done, OURS, b"True\n", b"mayfly: make directory other: Permission denied\n") or
                ([] if "other" not in place.names() else ["it was made"]))


# ---- JSON and the receipt ----

KEYS = ["taskId", "status", "reason", "exitCode", "signal", "stdout", "stderr", "truncated", "artifacts",
        "rejectedArtifacts", "denied", "usage", "receipt"]


def check_json(t):
    with Place() as place:
        place.file("a.py", "print('out'); open('x.csv', 'w').write('1\\n'); raise SystemExit(9)")
        done = place.run("run", "a.py", "--json")
        problems = expect(done, 9, None, b"")
        result = json.loads(done.stdout)
        if list(result) != KEYS:
            problems.append(list(result))
        if not re.fullmatch(r"task_([0-9a-z]{24}|[0-9a-f-]{36})", result["taskId"]):  # ours, or a server's
            problems.append(result["taskId"])
        wanted = {"status": "failed", "reason": "exit", "exitCode": 9, "signal": None, "stdout": "out\n", "stderr": "",
                  "truncated": {"stdout": False, "stderr": False}, "rejectedArtifacts": [], "denied": []}
        problems += ["%s: %r" % (k, result[k]) for k, v in wanted.items() if result[k] != v]
        if [(a["path"], a["sizeBytes"], a["mimeType"]) for a in result["artifacts"]] != [("x.csv", 2, "text/csv")]:
            problems.append(result["artifacts"])
        if sorted(result["usage"]) != ["cpuMs", "durationMs", "memoryMb"] or result["receipt"]["isolation"] != "full":
            problems.append(result)
        if done.stdout.count(b"\n") != 1 or place.read("mayfly-out/x.csv") != b"1\n":
            problems.append(done.stdout)
        t.check("--json prints one object and nothing else", problems)

        done = place.run("run", "a.py", "--json", "-o", "a.py/x")
        t.check("bad words print no JSON", one_line(done, "a.py/x: Not a directory"))

        place.file("slow.py", "import time\nprint('kept')\ntime.sleep(60)")
        done = place.run("run", "slow.py", "--json", "--timeout", "700")
        result = json.loads(done.stdout)
        t.check("--json of a timeout", expect(done, 124, None, b"") or
                ([] if (result["status"], result["reason"], result["stdout"], result["exitCode"]) ==
                 ("timed_out", "wall_time", "kept\n", None) else [result]))

        place.file("p.py", "print(1)")
        done = place.run("run", "p.py", "--receipt", "-f", "a.py")
        receipt = json.loads(done.stderr)
        problems = expect(done, 0, b"1\n")
        if (receipt["provider"], receipt["isolation"]) != ("local", "full") or not receipt["seccompSha256"]:
            problems.append(receipt)
        if [i["name"] for i in receipt["inputs"]] != ["a.py"]:
            problems.append(receipt["inputs"])
        t.check("--receipt prints it on standard error", problems)

        ids = {json.loads(place.run("run", "p.py", "--json").stdout)["taskId"] for _ in range(3)}
        t.check("task ids differ", [] if len(ids) == 3 else [ids])
        control = json.loads(place.run("run", "p.py", "--json", "--no-cgroup").stdout)["receipt"]["memoryControl"]
        t.check("without cgroups the receipt names the watchdog", [] if control == "watchdog" else [control])


# ---- live output ----

def check_live(t):
    with Place() as place:
        place.file("a.py", "import time\nprint('first', flush=True)\ntime.sleep(4)\nprint('last')")
        p = place.start("run", "a.py")
        line = p.stdout.readline()
        alive = p.poll() is None
        rest, err = p.communicate(timeout=PROMPT_S)
        t.check("output comes while the program runs",
                [] if (line, alive, rest, err, p.returncode) == (b"first\n", True, b"last\n", b"", 0)
                else [line, alive, rest, err, p.returncode])

        place.file("much.py", "print('y' * 900000)\nimport time; time.sleep(60)")
        p = place.start("run", "much.py", "--timeout", "1500")
        time.sleep(4)  # far longer than its time: a reader that does not read must not stop the clock
        out, err = p.communicate(timeout=PROMPT_S)
        t.check("a slow reader loses nothing",
                [] if (len(out), err, p.returncode) == (900001, b"mayfly: timed out after 1500 ms\n", 124)
                else [len(out), err, p.returncode])

        place.file("both.py", "import os\nfor i in range(2000): os.write(1 + i % 2, b'%d\\n' % i)")
        p = place.start("run", "both.py", stderr=subprocess.STDOUT)
        out, _ = p.communicate(timeout=PROMPT_S)
        got = sorted(int(x) for x in out.split())
        t.check("both streams into one pipe: every line", [] if got == list(range(2000)) else [len(got)])


def check_closed(t):
    with Place() as place:
        place.file("a.py", "import time\nwhile True: print('x' * 1000, flush=True)")
        p = place.start("run", "a.py")
        p.stdout.read(100)
        p.stdout.close()
        status = p.wait(timeout=PROMPT_S)
        t.check("a closed reader ends it quietly", [] if (status, p.stderr.read()) == (141, b"") else [status])
        p.stderr.close()

        place.file("p.py", "print(1)")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([places.mayfly(), "run", "p.py"], cwd=place.path, env=environment(), stdout=full,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=PROMPT_S, check=False)
        t.check("standard output on a full disk",
                [] if (done.returncode, done.stderr) == (OURS, b"mayfly: standard output: No space left on device\n")
                else [done])
        for words in ("run p.py", "run p.py --json", "version"):
            done = subprocess.run(["sh", "-c", 'exec "$0" %s >&-' % words, places.mayfly()], cwd=place.path,
                                  env=environment(), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=PROMPT_S,
                                  check=False)
            t.check("closed standard output: " + words,
                    [] if done.returncode == OURS and b"Bad file descriptor" in done.stderr else [done])
        done = subprocess.run(["sh", "-c", 'exec "$0" run p.py 2>&-', places.mayfly()], cwd=place.path, env=environment(),
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=PROMPT_S, check=False)
        t.check("closed standard error", expect(done, 0, b"1\n"))


def read_terminal(fd, p):
    """All that is written to the terminal until the process has ended."""
    text = b""
    while True:
        ready, _, _ = select.select([fd], [], [], 0.2)
        if ready:
            try:
                data = os.read(fd, 65536)
            except OSError:
                return text
            text += data
        elif p.poll() is not None:
            return text


def on_terminal(place, *words, stdout_too, env=None):
    ours, theirs = pty.openpty()
    p = place.start("run", *words, stderr=theirs, stdout=theirs if stdout_too else subprocess.PIPE, env=env)
    os.close(theirs)
    text = read_terminal(ours, p)
    p.wait(timeout=PROMPT_S)
    out = b"" if stdout_too else p.stdout.read()
    if p.stdout:
        p.stdout.close()
    os.close(ours)
    return p.returncode, out, text


def check_progress(t):
    with Place() as place:
        place.file("a.py", "import time\nprint('a', flush=True)\ntime.sleep(2.5)\nprint('b')")
        status, out, text = on_terminal(place, "a.py", stdout_too=False)
        problems = []
        if (status, out) != (0, b"a\nb\n"):
            problems.append((status, out))
        if not re.search(rb"\rrunning [12]\.\d s / 60 s\x1b\[K", text) or not text.endswith(b"\r\x1b[K"):
            problems.append(text[-300:])
        t.check("a progress line on a terminal, erased at the end", problems)

        status, _, text = on_terminal(place, "a.py", "--timeout", "9500", stdout_too=True)
        screen = b""
        for part in re.split(rb"\r\x1b\[K", re.sub(rb"\r(running|starting) [^\x1b]*\x1b\[K", b"", text)):
            screen += part
        t.check("the line never mixes with the output",
                [] if status == 0 and screen == b"a\r\nb\r\n" and b"/ 9.5 s" in text else [status, text[-300:]])

        place.file("open.py", "import time\nprint('no newline', end='', flush=True)\ntime.sleep(2.5)")
        status, _, text = on_terminal(place, "open.py", stdout_too=True)
        t.check("no line over an unfinished one", [] if status == 0 and b"running" not in text
                and b"no newline" in text else [status, text[-300:]])

        status, _, text = on_terminal(place, "a.py", stdout_too=False, env={"TERM": "dumb"})
        t.check("no line on a dumb terminal", [] if status == 0 and text == b"" else [status, text])

        done = place.run("run", "a.py")
        t.check("no line into a pipe", expect(done, 0, b"a\nb\n", b""))


def check_terminal(t):
    """A terminal obeys what is written to it: colours pass, everything else is shown."""
    source = ("import sys\nfor s in (sys.stdout, sys.stderr):\n"
              "    s.write('\\x1b]52;c;ZXZpbA==\\x07\\x1b[31mred\\x1b[0m\\x9b2J\\n')\n    s.flush()\n")
    raw = "\x1b]52;c;ZXZpbA==\x07\x1b[31mred\x1b[0m\x9b2J\n".encode()
    shown = b"\\x1b]52;c;ZXZpbA==\\x07\x1b[31mred\x1b[0m\\x9b2J\r\n"
    quiet = {"TERM": "dumb"}  # without a progress line
    with Place() as place:
        place.file("a.py", source)
        status, _, text = on_terminal(place, "a.py", stdout_too=True, env=quiet)
        t.check("a terminal gets text and colours only", [] if (status, text) == (0, shown * 2) else [status, text])
        status, out, text = on_terminal(place, "a.py", stdout_too=False, env=quiet)
        t.check("beside it, a pipe gets the bytes", [] if (status, out, text) == (0, raw, shown) else [status, out, text])
        done = place.run("run", "a.py")
        t.check("pipes get the bytes", expect(done, 0, raw, raw))
        status, _, text = on_terminal(place, "a.py", "--json", stdout_too=True, env=quiet)
        t.check("JSON holds no control", [] if status == 0
                and not re.search(rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]", text) and json.loads(text)["stdout"].encode() == raw else [status, text])


# ---- signals, and what is left ----

def started(place, *words):
    """A run whose program is seen to run."""
    place.file("sleep.py", "import time\nprint('up', flush=True)\nopen('half', 'w').write('1')\ntime.sleep(60)")
    p = place.start("run", "sleep.py", *words)
    if p.stdout.readline() != b"up\n":
        raise AssertionError("the program did not start: %r" % p.stderr.read())
    return p


def check_signals(t):
    for name, sig, status in [("SIGINT", signal.SIGINT, 130), ("SIGTERM", signal.SIGTERM, 143),
                              ("SIGHUP", signal.SIGHUP, 129)]:
        with Place() as place:
            before = leaks.Snapshot()
            p = started(place)
            p.send_signal(sig)
            out, err = p.communicate(timeout=PROMPT_S)
            problems = [] if (p.returncode, out, err) == (status, b"", b"mayfly: cancelled\n") else [p.returncode, err]
            if place.names() != ["sleep.py"]:
                problems.append(place.names())
            t.check(name + " cancels", problems + before.left())
    with Place() as place:
        before = leaks.Snapshot()
        p = started(place)
        for _ in range(2):
            p.send_signal(signal.SIGINT)
            time.sleep(0.3)
        p.communicate(timeout=PROMPT_S)
        t.check("two signals", ([] if p.returncode == 130 else [p.returncode]) + before.left())
    with Place() as place:
        before = leaks.Snapshot()
        place.file("a.py", "print('y' * 900000)")
        p = place.start("run", "a.py")
        time.sleep(3)  # the program has ended; nobody reads
        p.send_signal(signal.SIGTERM)
        status = p.wait(timeout=PROMPT_S)
        p.communicate()
        t.check("a signal while nobody reads", ([] if status == 143 else [status]) + before.left())
    for wait_s in (0.0, 0.05, 0.2, 0.5):
        with Place() as place:
            before = leaks.Snapshot()
            place.file("a.py", "import time; time.sleep(60)")
            p = place.start("run", "a.py")
            time.sleep(wait_s)
            p.send_signal(signal.SIGTERM)
            p.communicate(timeout=PROMPT_S)
            # Before the handlers stand, the signal itself ends it.
            t.check("SIGTERM after %.2f s" % wait_s,
                    ([] if p.returncode in (143, -signal.SIGTERM) else [p.returncode]) + before.left())
    with Place() as place:
        before = leaks.Snapshot()
        p = started(place)
        p.kill()
        p.communicate(timeout=PROMPT_S)
        left = [n for n in place.names() if n != "sleep.py"]
        t.check("kill -9 leaves nothing", before.left() + left)


def check_ordinary_ends_leave_nothing(t):
    with Place() as place:
        before = leaks.Snapshot()
        place.file("a.py", "import os, time\nif os.fork() == 0:\n  os.setsid(); time.sleep(60)\nprint(1)")
        done = place.run("run", "a.py")
        t.check("a daemon of the program does not outlive it", expect(done, 0, b"1\n", b"") + before.left())


def check_server_gone(t, server):
    """The server is killed while a program runs, and when it is not there."""
    with Place() as place:
        place.file("a.py", "import time\nprint('up', flush=True)\ntime.sleep(60)")
        place.file("quiet.py", "print('here')")
        p = place.start("run", "a.py")
        up = p.stdout.readline()
        server.kill()
        out, err = p.communicate(timeout=PROMPT_S)
        t.check("a server that is gone is a failure once something was printed",
                [] if (up, p.returncode, out) == (b"up\n", OURS, b"") and err.startswith(b"mayfly: no answer from") else
                [up, p.returncode, out, err])
        t.check("without a server it runs alone", expect(place.run("run", "quiet.py"), 0, b"here\n", b""))


def through_server(t):
    """What a person sees is the same, whoever does the work."""
    with gateway.Gateway("http://127.0.0.1:1") as server:
        OVER.update(MAYFLY_SERVER="auto", AGENTIC_API_HOME=server.home)

        def submitted():
            metrics = server.call("GET", "/metrics")[2].decode()
            return int(re.search(r"^mayfly_tasks_submitted_total (\d+)", metrics, re.M).group(1))

        for check in (check_ends, check_files, check_json, check_live, check_closed, check_progress, check_terminal):
            before = submitted()
            check(t)
            t.ok(submitted() > before, check.__name__ + ": the server did the work")
        for name, sig, status in [("SIGINT", signal.SIGINT, 130), ("SIGTERM", signal.SIGTERM, 143)]:
            with Place() as place:
                p = started(place)
                p.send_signal(sig)
                out, err = p.communicate(timeout=PROMPT_S)
                tasks = json.loads(place.run("tasks", "--json", "--limit", "1").stdout)["data"]
                t.check(name + " cancels the task", ([] if (p.returncode, out, err) == (status, b"", b"mayfly: cancelled\n")
                                                     else [p.returncode, out, err]) +
                        ([] if tasks[0]["status"] == "cancelled" and place.names() == ["sleep.py"] else [tasks, place.names()]))
        with Place() as place:
            p = started(place)
            p.stdout.close()
            server_side = json.loads(place.run("tasks", "--json", "--limit", "1").stdout)["data"][0]["taskId"]
            p.kill()
            p.wait()
            p.stderr.close()
            place.run("cancel", server_side)
        check_server_gone(t, server)
    return t.done()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--through", choices=("server",))
    through = parser.parse_args().through
    places.need("mayfly", "zygote", "runtime")
    leaks.adopt_orphans()
    t = tap.Tap()
    if through:
        return through_server(t)
    for check in (check_ends, check_files, check_disk, check_user, check_json, check_live, check_closed, check_progress,
                  check_terminal, check_signals, check_ordinary_ends_leave_nothing):
        check(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
