#!/usr/bin/env python3
"""What bad input gets from `mayfly run`: one line, a non-zero exit status, nothing written. No runtime is needed."""
import os
import socket
import sys

from command import NOBODY, OURS, Place, one_line

import places
import tap

MIB = 1 << 20

# name of the check, words after `mayfly run`, what the line must say
WORDS = [
    ("no program", [], "needs a program"),
    ("an unknown option", ["a.py", "--timout", "5"], "unknown option '--timout': did you mean --timeout?"),
    ("an unknown option without a neighbour", ["a.py", "--xyzzy"], "unknown option '--xyzzy'"),
    ("an unknown short option", ["a.py", "-z"], "unknown option '-z'"),
    ("an option with a newline", ["a.py", "--a\nb"], "unknown option"),
    ("a missing value", ["a.py", "--timeout"], "--timeout: needs a value"),
    ("a value for a flag", ["a.py", "--json=yes"], "--json: takes no value"),
    ("a second program", ["a.py", "b.py"], "unexpected word 'b.py'"),
    ("an unknown provider", ["a.py", "--provider", "cloud"], "--provider: expected one of: local wasm"),
    ("fuel where nothing counts it", ["a.py", "--fuel", "9"], "--fuel: only the wasm provider has that, and this is local"),
    ("processes where there are none", ["a.py", "--provider", "wasm", "--pids", "9"], "--pids: only the local provider has that"),
    ("no fuel", ["a.py", "--provider", "wasm", "--fuel", "0"], "--fuel: expected a whole number from 1"),
    ("more memory than 32 bits have", ["a.py", "--provider", "wasm", "--memory", "4097"],
     "--memory: the wasm provider has at most 4096"),
    ("an unknown isolation", ["a.py", "--isolation", "none"], "--isolation: expected one of: require prefer"),
    ("no time", ["a.py", "--timeout", "0"], "--timeout: expected a whole number from 1 to 3600000, got '0'"),
    ("too much time", ["a.py", "--timeout", "3600001"], "from 1 to 3600000"),
    ("a negative time", ["a.py", "--timeout", "-5"], "from 1 to 3600000"),
    ("a time that is no number", ["a.py", "--timeout", "5s"], "from 1 to 3600000"),
    ("a time beyond 64 bits", ["a.py", "--timeout", "9" * 30], "from 1 to 3600000"),
    ("too little memory", ["a.py", "--memory", "63"], "--memory: expected a whole number from 64 to 1048576"),
    ("too much memory", ["a.py", "--memory=1048577"], "from 64 to 1048576"),
    ("no processes", ["a.py", "--pids", "0"], "--pids: expected a whole number from 1 to 4096"),
    ("too many processes", ["a.py", "--pids", "4097"], "from 1 to 4096"),
    ("no output", ["a.py", "--output-limit", "0"], "--output-limit: expected a whole number from 1 to 16777216"),
    ("too much output", ["a.py", "--output-limit", "16777217"], "from 1 to 16777216"),
    ("no processor time", ["a.py", "--cpu", "0"], "--cpu: expected a whole number from 1 to 86400000"),
    ("a missing program", ["none.py"], "none.py: No such file or directory"),
    ("a folder as a program", ["folder"], "folder: is a directory"),
    ("a program below a file", ["a.py/b.py"], "a.py/b.py: Not a directory"),
    ("a program with an endless name", ["n" * 5000], "File name too long"),
    ("a program with a newline in its name", ["new\nline.py"], "program"),
    ("a program without an end", ["/dev/zero"], "may have at most 1048576 bytes"),
    ("a missing input", ["a.py", "-f", "none.csv"], "none.csv: No such file or directory"),
    ("a folder as an input", ["a.py", "-f", "folder"], "folder: is a directory"),
    ("a device as an input", ["a.py", "-f", "/dev/null"], "/dev/null: is a device"),
    ("a pipe as an input", ["a.py", "-f", "pipe"], "pipe: is a pipe"),
    ("a socket as an input", ["a.py", "-f", "socket"], "socket: is a socket"),
    ("a name that leaves the folder", ["a.py", "-f", "in.csv:../x"], "'..'"),
    ("a name that leaves it later", ["a.py", "-f", "in.csv:a/../../x"], "'..'"),
    ("an absolute name", ["a.py", "-f", "in.csv:/etc/passwd"], "input name"),
    ("an empty name", ["a.py", "-f", "in.csv:"], "input name"),
    ("a name with an empty part", ["a.py", "-f", "in.csv:a//b"], "input name"),
    ("a name with a newline", ["a.py", "-f", "in.csv:a\nb"], "input name"),
    ("a name with an escape", ["a.py", "-f", "in.csv:\x1b[2Jx"], "input name"),
    ("a name of 256 bytes", ["a.py", "-f", "in.csv:" + "n" * 256], "input name"),
    ("a name that is no UTF-8", ["a.py", "-f", b"in.csv:caf\xe9"], "input name"),
    ("a name 17 folders deep", ["a.py", "-f", "in.csv:" + "/".join("d" * 17)], "input name"),
    ("two inputs with one name", ["a.py", "-f", "in.csv", "-f", "other.csv:in.csv"],
     "in.csv and other.csv would both be 'in.csv' in the sandbox"),
    ("an input below another", ["a.py", "-f", "in.csv:x", "-f", "other.csv:x/y"], "would both be"),
    ("too many inputs", ["a.py"] + [w for i in range(257) for w in ("-f", "in.csv:%d" % i)], "at most 256 input files"),
    ("one input over 20 MiB", ["a.py", "-f", "big.bin"], "all inputs together may hold 20 MiB"),
    ("two inputs over 20 MiB together", ["a.py", "-f", "half.bin:1", "-f", "half.bin:2"],
     "all inputs together may hold 20 MiB"),
    ("a file as the output folder", ["a.py", "-o", "in.csv"], "--output in.csv: is not a directory"),
    ("an empty output folder", ["a.py", "-o", ""], "--output: needs the name of a directory"),
    ("a source with NUL", ["nul.py"], "nul.py: NUL byte at offset 5 (line 2)"),
    ("a source that is no UTF-8", ["latin1.py"], "latin1.py: invalid UTF-8 at byte offset 7 (line 1)"),
    ("a source that ends inside a character", ["cut.py"], "cut.py: invalid UTF-8 at byte offset 2 (line 1)"),
    ("a source over 1 MiB", ["long.py"], "long.py: a program may have at most 1048576 bytes"),
    ("an argument that is no UTF-8", ["a.py", "--", b"caf\xe9"], "UTF-8"),
    ("a missing runtime", ["a.py", "--runtime", "folder"], "does not hold manifest.json"),
]


def prepare(place):
    place.file("a.py", "print(1)\n")
    place.file("b.py", "print(2)\n")
    place.file("new\nline.py", "print(3)\n")
    place.file("in.csv", "a,b\n")
    place.file("other.csv", "c,d\n")
    place.file("nul.py", b"ab\ncd\0e")
    place.file("latin1.py", b"x = 'caf\xe9'\n"[:1] + b"     " + b"\x27\xe9'\n")
    place.file("cut.py", b"ab\xe2\x98")
    place.file("long.py", b" " * (MIB + 1))
    for name, size in (("big.bin", 20 * MIB + 1), ("half.bin", 10 * MIB + 1)):
        place.file(name)
        os.truncate(os.path.join(place.path, name), size)
    os.mkdir(os.path.join(place.path, "folder"))
    os.mkfifo(os.path.join(place.path, "pipe"))
    s = socket.socket(socket.AF_UNIX)
    os.chdir(place.path)
    s.bind("socket")
    s.close()


def check_words(t):
    with Place() as place:
        prepare(place)
        before = place.names()
        for name, words, part in WORDS:
            problems = one_line(place.run("run", *words), part)
            if place.names() != before:
                problems.append("the folder has changed: %s" % sorted(set(place.names()) ^ set(before)))
            t.check(name, problems)


def check_stdin(t):
    with Place() as place:
        t.check("standard input that is no UTF-8", one_line(place.run("run", "-", stdin=b"\xff"),
                                                            "standard input: invalid UTF-8 at byte offset 0"))
        t.check("standard input over 1 MiB", one_line(place.run("run", "-", stdin=b" " * (MIB + 1)),
                                                      "standard input: a program may have at most"))
        t.check("closed standard input", one_line(run_shell(place, 'exec "$0" run - <&-'), "standard input: Bad file"))


def run_shell(place, script):
    import subprocess

    from command import environment
    return subprocess.run(["sh", "-c", script, places.mayfly()], cwd=place.path, env=environment(), timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def check_permissions(t):
    with Place() as place:
        place.file("a.py", "print(1)\n")
        place.file("secret.py", "print(1)\n")
        place.file("secret.csv", "1\n")
        os.chmod(os.path.join(place.path, "secret.py"), 0)
        os.chmod(os.path.join(place.path, "secret.csv"), 0)
        os.mkdir(os.path.join(place.path, "locked"), 0o555)
        user = NOBODY if os.geteuid() == 0 else None
        program = places.mayfly()
        if user and place.run("version", user=user).returncode != 0:
            t.skip("no permission", "an ordinary user cannot reach the built program")
            return
        for name, words, part in [
            ("an unreadable program", ["secret.py"], "secret.py: Permission denied"),
            ("an unreadable input", ["a.py", "-f", "secret.csv"], "secret.csv: Permission denied"),
            ("an output folder without permission", ["a.py", "-o", "locked"], "--output locked: Permission denied"),
        ]:
            t.check(name, one_line(place.run("run", *words, user=user, program=program), part))


def check_other_commands(t):
    with Place() as place:
        for name, words, part in [
            ("an unknown command", ["rnu"], "unknown command 'rnu': did you mean 'run'?"),
            ("a program without its command", ["a.py"], "did you mean 'mayfly run a.py'?"),
            ("doctor with an unknown option", ["doctor", "--jsn"], "did you mean --json?"),
            ("doctor with a word", ["doctor", "x"], "doctor: takes no arguments"),
            ("bench with a wrong mode", ["bench", "--mode", "both"], "--mode: expected one of: pool demand"),
            ("bench with a wrong number", ["bench", "--runs", "many"], "--runs: expected a whole number"),
            ("version with a word", ["version", "x"], "version: takes no arguments"),
            ("completion without a shell", ["completion"], "name a shell"),
            ("completion for an unknown shell", ["completion", "tcsh"], "name a shell"),
            ("help about an unknown command", ["help", "benhc"], "did you mean 'bench'?"),
        ]:
            t.check(name, one_line(place.run(*words), part, status=2))
        done = place.run()
        t.check("no command shows the commands", [] if done.returncode == 2 and b"Commands:" in done.stderr
                and not done.stdout else [str(done)])


def check_help(t):
    with Place() as place:
        for command in ("run", "doctor", "bench", "model", "version", "help", "completion"):
            outputs = {place.run(command, word).stdout for word in ("--help", "-h")}
            outputs.add(place.run("help", command).stdout)
            done = place.run(command, "--help")
            problems = []
            if len(outputs) != 1 or done.returncode != 0 or done.stderr:
                problems.append(str(done))
            for part in (b"Usage: mayfly " + command.encode(), b"Options:", b"Examples:\n  "):
                if part not in done.stdout:
                    problems.append("no %r" % part)
            if b"test-" in done.stdout or b"no-cgroup" in done.stdout:
                problems.append("a hidden option is shown")
            t.check("help of " + command, problems)
        for words in (["--help"], ["-h"], ["help"]):
            done = place.run(*words)
            t.check("overview by " + words[0], [] if done.returncode == 0 and b"Commands:" in done.stdout else [str(done)])
        for words in (["version"], ["--version"], ["-V"]):
            done = place.run(*words)
            t.check("version by " + words[0],
                    [] if done.returncode == 0 and done.stdout.startswith(b"mayfly ") else [str(done)])


def main():
    places.need("mayfly")
    t = tap.Tap()
    check_words(t)
    check_stdin(t)
    check_permissions(t)
    check_other_commands(t)
    check_help(t)
    return t.done()


if __name__ == "__main__":
    assert OURS == 125
    sys.exit(main())
