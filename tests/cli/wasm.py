#!/usr/bin/env python3
"""The wasm provider through every door: `run` beside the local provider, `serve` with the gateway and the task API, what a
killed worker means, `bench`. Only where the program was built with it."""
import json
import os
import signal
import sys
import threading
import time

from command import Place, one_line
from serving import model, serve

import leaks
import places
import tap

WASM = ["--provider", "wasm"]
MEMORY = ["--db-url", "sqlite::memory:"]
PATIENCE = 120
WORKER = "mayfly-wasm-worker"
CRASHED = [{"type": "logs", "logs": "Code execution failed."}]


# ---- run ----

ENDS = [
    # name, source, words, exit status, standard output, standard error (None: not looked at), status, reason
    ("success", "print(6 * 7)", [], 0, b"42\n", b"", "succeeded", "exit"),
    ("its own exit status", "raise SystemExit(3)", [], 3, b"", b"", "failed", "exit"),
    ("an exception", "print('a')\n1 / 0", [], 1, b"a\n", None, "failed", "exception"),
    ("its time", "print('one', flush=True)\nwhile True: pass", ["--timeout", "1000"], 124, b"one\n",
     b"mayfly: timed out after 1000 ms\n", "timed_out", "wall_time"),
    ("its fuel", "print('one', flush=True)\nwhile True: pass", ["--fuel", "200000000"], 1, b"one\n",
     b"mayfly: stopped: used all the fuel that it may have\n", "failed", "fuel"),
    ("its memory", "x = [bytearray(1 << 20) for i in range(1000)]", ["--memory", "128"], 137, b"", None, "failed", "memory"),
    ("output over its limit", "print('x' * 5000)", ["--output-limit", "100"], 0, b"x" * 100,
     b"mayfly: standard output was cut at its limit of 100 bytes\n", "succeeded", "exit"),
    ("arguments", "import sys; print(sys.argv[1:])", ["--", "--json", "", "\u2615"], 0, "['--json', '', '\u2615']\n".encode(), b"",
     "succeeded", "exit"),
    ("a package that is not there", "import numpy", [], 1, b"", None, "failed", "exception"),
]


def check_ends(t):
    for name, source, words, status, stdout, stderr, result, reason in ENDS:
        with Place() as place:
            place.file("a.py", source)
            options, arguments = (words, []) if "--" not in words else ([], words)
            done = place.run("run", "a.py", *WASM, *options, *arguments)
            problems = []
            if done.returncode != status or done.stdout != stdout or (stderr is not None and done.stderr != stderr):
                problems.append(done)
            done = place.run("run", "a.py", *WASM, "--json", *options, *arguments)
            told = json.loads(done.stdout)
            if (done.returncode, told["status"], told["reason"], told["receipt"]["provider"]) != (status, result, reason, "wasm"):
                problems.append(told)
            t.check("run: " + name, problems)


def check_side_by_side(t):
    with Place() as place:
        place.file("a.py", "import sys\nprint(sum(i * i for i in range(1000)), open('in.txt').read())\nopen('out.txt', 'w').write('x')\n"
                           "print('e', file=sys.stderr)\n")
        place.file("in.txt", "input")
        results = {}
        for provider in ("local", "wasm"):
            done = place.run("run", "a.py", "--provider", provider, "--json", "-f", "in.txt", "-o", "out-" + provider)
            results[provider] = json.loads(done.stdout) if done.returncode == 0 else done
        same = ("status", "reason", "exitCode", "stdout", "stderr", "artifacts", "rejectedArtifacts", "truncated")
        differ = [k for k in same if results["local"][k] != results["wasm"][k]]
        t.ok(not differ and place.read("out-wasm/out.txt") == b"x" and results["wasm"]["stdout"] == "332833500 input\n",
             "both providers of one program: the same result", results)
        receipts = {p: r["receipt"] for p, r in results.items()}
        doctor = json.loads(place.run("doctor", "--json", *WASM).stdout)
        r = receipts["wasm"]
        t.ok(receipts["local"]["provider"] == "local" and r["provider"] == "wasm" and r["isolation"] == "full" and
             r["seccompSha256"] and {"wasm", "fuel", "seccomp", "no_new_privs"} <= set(r["layers"]) and r["start"] == "cold" and
             doctor["wasm"]["digest"] in json.dumps(r) and r["inputs"] == receipts["local"]["inputs"] and r["limits"]["fuel"],
             "the receipt says what held it", r, doctor)
        fuel = results["wasm"]["usage"].get("fuel")
        t.ok(isinstance(fuel, int) and 0 < fuel < r["limits"]["fuel"] and "fuel" not in results["local"]["usage"],
             "the fuel that was used is shown where it is counted", results)
        place.file("f.py", "while True: pass\n")
        told = json.loads(place.run("run", "f.py", *WASM, "--json", "--fuel", "200000000").stdout)
        t.ok(told["reason"] == "fuel" and told["usage"]["fuel"] == told["receipt"]["limits"]["fuel"] == 200000000,
             "all of it, where it was the limit", told)
        done = place.run("run", "a.py", *WASM, "--wasm-runtime", place.path)
        t.check("run: no runtime there", one_line(done, "manifest.json"))
        before = leaks.Snapshot()
        place.file("b.py", "import time\nprint('up', flush=True)\ntime.sleep(60)\n")
        p = place.start("run", "b.py", *WASM)
        p.stdout.readline()
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=PATIENCE)
        t.check("run: ^C ends it, and nothing is left", ([] if p.returncode == 130 else [p.returncode]) + before.left())


# ---- serve ----

def submit(s, body):
    status, data = s.ask("POST", "/v1/tasks", body)
    return status, json.loads(data)


def finish(s, task):
    return json.loads(s.ask("GET", "/v1/tasks/%s?wait=60" % task["taskId"])[1])


def check_gateway(t, place, m):
    settings = {"AGENTIC_CODE_INTERPRETER_EXECUTION_WALL_TIME_SECONDS": "2", "AGENTIC_CODE_INTERPRETER_MAX_FUEL": "2000000000",
                "AGENTIC_CODE_INTERPRETER_MAX_STDOUT_BYTES": "1000", "OPENAI_API_KEY": "sk-hidden"}
    with serve(place, m, *MEMORY, "--code-interpreter", *WASM, env=settings) as s:
        t.ok(s.wait_line(), "serve: it starts", s.errors)
        t.ok(until(lambda: b"code interpreter: wasm, 2 programs at a time, isolation full" in s.errors), "serve: it says what runs programs", s.errors)
        for name, code, status, logs in [
                ("a program", "print(6 * 7)", "completed", ["42\n"]),
                ("nothing printed", "pass", "completed", []),
                ("an exit status", "import sys; sys.exit(3)", "failed", ["Python execution raised an exception."]),
                ("its wall time", "import time; time.sleep(60)", "incomplete",
                 ["Code execution exceeded a resource limit.\n[timed out after 2 s]"]),
                ("its fuel", "while True: pass", "incomplete", ["Code execution exceeded a resource limit."]),
                ("its output", "print('x' * 5000)", "incomplete", ["x" * (1000 - 19) + "\n[output truncated]"]),
                ("the next one", "print('fine')", "completed", ["fine\n"])]:
            item = s.run_code(code)
            got = [o["logs"] for o in item["outputs"] or []]
            # Which of two limits ends a busy loop first depends on the machine: both are the same to the client.
            if name == "its fuel" and got == ["Code execution exceeded a resource limit.\n[timed out after 2 s]"]:
                got = logs
            t.ok(item["status"] == status and got == logs, "gateway: " + name, item)
        item = s.run_code("x = bytearray(200 << 20)\nprint(len(x))")
        t.ok(item["status"] in ("failed", "incomplete") and "MemoryError" in json.dumps(item), "gateway: a guest has 128 MiB", item)

        workers = [p for p in leaks.descendants(s.process.pid) if WORKER in leaks.command_of(p)]
        t.ok(workers, "workers are children of the server", leaks.descendants(s.process.pid))
        for pid in workers:
            with open("/proc/%d/environ" % pid, "rb") as f:
                t.ok(f.read() == b"", "the environment of a worker is empty")
        s.signal()
        t.ok(s.wait() == 0, "serve: it ends with 0", s.errors)


def ask_late(s, code):
    """A request in a thread: (thread, list that gets the item)."""
    got = []
    thread = threading.Thread(target=lambda: got.append(s.run_code(code)), daemon=True)
    thread.start()
    return thread, got


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def busy(s):
    for line in s.ask("GET", "/metrics")[1].decode().splitlines():
        if line.startswith("mayfly_executor_permits_busy "):
            return int(float(line.split()[1]))
    return None


def check_crash_and_permits(t, place, m):
    one = {"AGENTIC_CODE_INTERPRETER_MAX_AGGREGATE_GUEST_MEMORY_BYTES": str(128 << 20),
           "AGENTIC_CODE_INTERPRETER_EXECUTION_WALL_TIME_SECONDS": "60"}
    with serve(place, m, *MEMORY, "--code-interpreter", *WASM, env=one) as s:
        s.wait_line()
        t.ok(until(lambda: b"wasm, 1 program at a time" in s.errors), "permits: as many as guests go into their aggregate", s.errors)
        thread, got = ask_late(s, "import time\ntime.sleep(50)\nprint('never')")
        t.ok(until(lambda: busy(s) == 1), "a program holds the only permit", busy(s))
        item = s.run_code("print(1)")
        t.ok(item["status"] == "failed" and item["outputs"] == CRASHED, "permits: the second is refused at once", item)
        for pid in [p for p in leaks.descendants(s.process.pid) if WORKER in leaks.command_of(p)]:
            os.kill(pid, signal.SIGKILL)
        thread.join(PATIENCE)
        t.ok(got and got[0]["status"] == "failed" and got[0]["outputs"] == CRASHED, "a worker that is killed: a failed call with fixed words",
             got)
        t.ok(until(lambda: busy(s) == 0), "its permit is back", busy(s))
        item = s.run_code("print('fine')")
        t.ok(item["status"] == "completed" and item["outputs"] == [{"type": "logs", "logs": "fine\n"}], "the next call is fine", item)
        s.signal()
        t.ok(s.wait() == 0, "it ends with 0", s.errors)


def check_tasks(t, place):
    before = leaks.Snapshot()
    more = {"MAYFLY_TASKS_MAX_FUEL": "3000000000"}
    with serve(place, None, "--code-interpreter", *WASM, env=more) as s:
        s.wait_line()
        code = "import pathlib\npathlib.Path('out.txt').write_text(open('in.txt').read().upper())\nprint('done')\n"
        status, task = submit(s, {"language": "python", "code": code, "files": [{"name": "in.txt", "content": "dGV4dA=="}]})
        result = finish(s, task)
        artifacts = result.get("artifacts") or [{}]
        t.ok(status == 202 and result["status"] == "succeeded" and result["stdout"] == "done\n" and
             [a.get("path") for a in artifacts] == ["out.txt"] and result["receipt"]["provider"] == "wasm",
             "tasks: a file in, a file out", status, result)
        t.ok(0 < result["usage"]["fuel"] < result["receipt"]["limits"]["fuel"], "tasks: the fuel that was used", result)
        data = s.ask("GET", "/v1/tasks/%s/artifacts/%s" % (task["taskId"], artifacts[0].get("artifactId")))[1]
        t.ok(data == b"TEXT", "tasks: its content", data)
        for name, code, limits, want in [
                ("fuel", "while True: pass", {}, ("failed", "fuel")),
                ("wall time", "import time; time.sleep(60)", {"timeoutMs": 500}, ("timed_out", "wall_time")),
                ("memory", "x = bytearray(1 << 30)", {"memoryMb": 64}, ("failed", "memory")),
                ("more memory than the worker has by itself", "x = bytearray(1200 << 20); print(len(x) >> 20)", {"memoryMb": 2048},
                 ("succeeded", "exit"))]:
            status, task = submit(s, {"language": "python", "code": code, "limits": limits})
            result = finish(s, task) if status == 202 else task
            t.ok((result.get("status"), result.get("reason")) == want, "tasks: " + name, status, result)
        status, answer = submit(s, {"language": "python", "code": "pass", "limits": {"memoryMb": 4097}})
        t.ok(status == 400 and answer["error"]["param"] == "limits.memoryMb" and "4096" in answer["error"]["message"],
             "tasks: more memory than a guest can have is refused by name", status, answer)
        place.file("c.py", "print('through the server')\nopen('c.txt', 'w').write('c')\n")
        socket = "unix:" + os.path.join(place.path, "home", "mayfly.sock")
        done = place.run("run", "c.py", "--json", env={"MAYFLY_SERVER": socket})
        told = json.loads(done.stdout) if done.stdout else {}
        t.ok(done.returncode == 0 and told["receipt"]["provider"] == "wasm" and told["stdout"] == "through the server\n" and
             told["usage"]["fuel"] > 0 and place.read("mayfly-out/c.txt") == b"c", "run: through a server with this provider", done)
        s.signal()
        t.ok(s.wait() == 0, "it ends with 0", s.errors)
    t.check("nothing is left behind", before.left())


def check_bench(t):
    with Place() as place:
        done = place.run("bench", *WASM, "--runs", "3", "--seconds", "0", "--gap", "0", "--json")
        told = json.loads(done.stdout) if done.returncode == 0 else {}
        variants = [(v["mode"], v["job"], v["runs"]) for v in told.get("variants", [])]
        t.ok(told.get("provider") == "wasm" and variants == [("pool", "print", 3), ("demand", "print", 3)], "bench: two ways", done)
        done = place.run("bench", *WASM, "--job", "pandas")
        t.check("bench: what it has not is said", one_line(done, "standard library only", 2))


def main():
    places.need("mayfly", "zygote", "runtime", "wasm")
    leaks.adopt_orphans()
    t = tap.Tap()
    with Place() as place:
        if not json.loads(place.run("doctor", "--json", *WASM).stdout)["wasm"]["built"]:
            tap.skip_all("this program was built without the wasm provider")
    check_ends(t)
    check_side_by_side(t)
    with Place() as place, model(place) as m:
        check_gateway(t, place, m)
    with Place() as place, model(place) as m:
        check_crash_and_permits(t, place, m)
    with Place() as place:
        check_tasks(t, place)
    check_bench(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
