#!/usr/bin/env python3
"""Shell completion: scripts that their shells accept, made from the same tables as the help."""
import re
import shutil
import subprocess
import sys

from command import Place, environment

import places
import tap

COMMANDS = ["run", "submit", "get", "cancel", "tasks", "fetch", "serve", "key", "demo", "config", "doctor", "bench", "model",
            "version", "help", "completion"]


def options_of(place, command):
    text = place.run(command, "--help").stdout.decode()
    return set(re.findall(r"^  (?:-\w,|   ) (--[a-z-]+)", text, re.M))


def check_syntax(t, place, shell, script):
    found = shutil.which(shell)
    if not found:
        t.skip(shell + " accepts its script", shell + " is not installed")
        return
    done = subprocess.run([found, "-n", "/dev/stdin"], input=script, capture_output=True, timeout=30, check=False)
    t.check(shell + " accepts its script", [] if done.returncode == 0 and not done.stderr else [done.stderr])


def check_options(t, place, shell, script):
    text = script.decode()
    problems = []
    for command in COMMANDS:
        for option in options_of(place, command):
            wanted = option if shell != "fish" else "-l %s " % option[2:]
            if wanted not in text:
                problems.append("%s of %s" % (option, command))
    if "test-disable" in text or "no-cgroup" in text:
        problems.append("a hidden option")
    t.check("every option is in the script of " + shell, problems)


def ask_bash(place, script, words):
    """What bash offers for the last of `words`."""
    program = script.decode() + """
COMP_WORDS=(%s)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_mayfly
printf '%%s\\n' "${COMPREPLY[@]}"
""" % " ".join("'%s'" % w for w in words)
    done = subprocess.run(["bash", "-c", program], cwd=place.path, env=environment(), capture_output=True, timeout=30,
                          check=False)
    return sorted(done.stdout.decode().split()), done.stderr.decode()


def check_bash(t, place, script):
    if not shutil.which("bash"):
        t.skip("bash completes", "bash is not installed")
        return
    place.file("analysis.py", "")
    place.file("notes.txt", "")
    for words, wanted in [
        (["mayfly", ""], sorted(COMMANDS)),
        (["mayfly", "do"], ["doctor"]),
        (["mayfly", "serve", "--log-format", ""], ["json", "text"]),
        (["mayfly", "config", "--gateway-h"], ["--gateway-host"]),
        (["mayfly", "run", "--time"], ["--timeout"]),
        (["mayfly", "run", "--isolation", ""], ["prefer", "require"]),
        (["mayfly", "run", "--isolation", "p"], ["prefer"]),
        (["mayfly", "run", "--timeout", ""], []),
        (["mayfly", "run", "ana"], ["analysis.py"]),
        (["mayfly", "run", "-f", "no"], ["notes.txt"]),
        (["mayfly", "bench", "--mode", ""], ["demand", "pool"]),
        (["mayfly", "completion", ""], ["bash", "fish", "zsh"]),
        (["mayfly", "help", "v"], ["version"]),
        (["mayfly", "key", ""], ["create", "list", "revoke"]),
        (["mayfly", "tasks", "--status", "ti"], ["timed_out"]),
        (["mayfly", "get", "--wait", "--js"], ["--json"]),
        (["mayfly", "submit", "ana"], ["analysis.py"]),
        (["mayfly", "doctor", "--"], ["--help", "--json", "--provider", "--runtime", "--wasm-runtime"]),
    ]:
        got, err = ask_bash(place, script, words)
        t.check("bash: " + " ".join(words), [] if got == wanted and not err else [got, err])


def main():
    places.need("mayfly")
    t = tap.Tap()
    with Place() as place:
        for shell in ("bash", "zsh", "fish"):
            done = place.run("completion", shell)
            t.check("a script for " + shell, [] if done.returncode == 0 and not done.stderr else [done])
            check_syntax(t, place, shell, done.stdout)
            check_options(t, place, shell, done.stdout)
            if shell == "bash":
                check_bash(t, place, done.stdout)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
