#!/usr/bin/env python3
"""`mayfly serve`: its start, its end, what it refuses, and where secrets are not."""
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time

from command import Place, one_line
from serving import model, rest_of, serve, stream

import places
import tap

MEMORY = ["--db-url", "sqlite::memory:"]


def check_start_and_end(t):
    with Place() as place, model(place) as m:
        for number in (signal.SIGTERM, signal.SIGINT):
            with serve(place, m) as s:
                line = s.wait_line()
                t.ok(line == "listening on http://127.0.0.1:%d/v1\n" % getattr(s, "port", 0), "it says where it listens", line, s.errors)
                t.ok(s.ask("GET", "/health")[0] == 200 and s.ask("GET", "/ready")[0] == 200, "healthy and ready")
                s.signal(number)
                status = s.wait()
                t.ok(status == 0 and s.process.stdout.read() == b"", "ends with 0 after signal %d" % number, status, s.errors)
        path = os.path.join(place.path, "home", "config.toml")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        mode = stat.S_IMODE(os.stat(path).st_mode)
        t.ok('llm_api_base = "http://127.0.0.1:%d"' % m.port in text and mode & 0o137 == 0, "the first start kept the address",
             text, oct(mode))
        with serve(place, None) as s:
            t.ok(s.wait_line(), "the second one needs no word about it", s.errors)
            s.signal()
            s.wait()


def check_secrets(t):
    with Place() as place, model(place) as m:
        env = {"OPENAI_API_KEY": "sk-hidden", "MAYFLY_API_KEYS": "hidden-key"}
        with serve(place, m, "--openai-api-key", "hidden-word", *MEMORY, env=env) as s:
            s.wait_line()
            seen = b""
            for name in ("environ", "cmdline"):
                with open("/proc/%d/%s" % (s.process.pid, name), "rb") as f:
                    seen += f.read()
            t.ok(b"hidden" not in seen and b"AGENTIC_API_HOME" in seen, "no secret in its environment and command line", seen)
            ask = {"model": "m", "input": "x"}
            t.ok(s.ask("POST", "/v1/responses", ask)[0] == 401, "a client without a key is refused")
            t.ok(s.ask("POST", "/v1/responses", ask, {"Authorization": "Bearer hidden-key"})[0] == 200, "one with a key is served")
            s.signal()
            s.wait()
            t.ok(b"hidden" not in s.errors, "nor in its log", s.errors)
            with open(os.path.join(place.path, "home", "config.toml"), "rb") as f:
                t.ok(b"hidden" not in f.read(), "nor in config.toml")


def check_refusals(t):
    for name, words, env, toml, part in [
            ("no LLM server", [], {}, "", "there is nothing to serve"),
            ("0.0.0.0 without a key", ["--llm-api-base", "http://h", "--gateway-host", "0.0.0.0"], {}, "", "no key is set"),
            ("a broken config.toml", ["--llm-api-base", "http://h"], {}, "[server]\nprt = 1\n", "did you mean server.port?"),
            ("a home that cannot be", ["--llm-api-base", "http://h"], {"AGENTIC_API_HOME": "/dev/null/x"}, None, "AGENTIC_API_HOME or"),
            ("no runtime", ["--llm-api-base", "http://h", "--code-interpreter", "--runtime", "/nonexistent"], {}, "", "/nonexistent"),
            ("a certificate that is none", ["--llm-api-base", "http://h", "--tls-cert", "/dev/null", "--tls-key", "/dev/null",
                                            "--skip-llm-ready-check", *MEMORY], {}, "", "/dev/null")]:
        with Place() as place:
            os.mkdir(os.path.join(place.path, "home"))
            if toml:
                place.file("home/config.toml", toml)
            done = place.run("serve", "--gateway-port", "0", *words, env={"AGENTIC_API_HOME": os.path.join(place.path, "home"), **env})
            t.check("refused in one line: " + name, one_line(done, part, 1))
    with Place() as place, socket.create_server(("127.0.0.1", 0)) as taken:
        done = place.run("serve", "--llm-api-base", "http://h", "--skip-llm-ready-check", *MEMORY, "--gateway-port",
                         str(taken.getsockname()[1]), env={"AGENTIC_API_HOME": place.path})
        t.check("refused in one line: a port that is taken", one_line(done, "in use", 1))
        done = place.run("serve", "some-model", env={"AGENTIC_API_HOME": place.path})
        t.check("a word too many", one_line(done, "--llm-api-base", 2))


def check_waiting(t):
    with Place() as place:
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        base = "http://127.0.0.1:%d" % port
        with serve(place, base, "--llm-ready-timeout-s", "1", "--llm-ready-interval-s", "1", *MEMORY) as s:
            status = s.wait()
            t.ok(status == 1 and b"was not ready for 1 s" in s.errors, "an LLM server that never comes", status, s.errors)
        with serve(place, base, *MEMORY) as s:
            while b"waiting for the LLM server" not in s.errors and s.process.poll() is None:
                time.sleep(0.01)
            s.signal()
            status = s.wait()
            t.ok(status == 0 and not s.process.stdout.read(), "a signal ends the waiting", status, s.errors)
            t.ok(b"(llm_api_base is from: option --llm-api-base)" in s.errors, "it says where the address is from", s.errors)
        with serve(place, base, "--llm-ready-interval-s", "1", *MEMORY) as s:
            while b"waiting for the LLM server" not in s.errors and s.process.poll() is None:
                time.sleep(0.01)
            scenario = place.file("late.json", json.dumps({"rounds": [{"text": "hello"}], "loop": True})).decode()
            late = place.start("model", scenario, "--port", str(port))
            try:
                t.ok(s.wait_line(), "one that comes late is taken", s.errors)
                s.signal()
                s.wait()
            finally:
                late.terminate()
                late.communicate()


def check_places(t):
    with Place() as place, model(place) as m:
        with serve(place, m, *MEMORY, env={"AGENTIC_API_HOME": "/dev/null/x"}) as s:
            t.ok(s.wait_line(), "a home that cannot be written is no reason not to start", s.errors)
            s.signal()
            t.ok(s.wait() == 0 and b"no config.toml is kept" in s.errors, "it says that nothing is kept", s.errors)
        path = os.path.join(place.path, "socket")
        with serve(place, m, *MEMORY, "--unix-socket", path) as s:
            t.ok(s.wait_line() == "listening on unix:%s\n" % path, "a Unix socket", s.line, s.errors)
            with socket.socket(socket.AF_UNIX) as c:
                c.connect(path)
                c.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                t.ok(rest_of(c).startswith(b"HTTP/1.1 200"), "it answers there")
            s.signal()
            s.wait()
        with serve(place, m, *MEMORY, "--port-file", os.path.join(place.path, "port"), "--quiet", stdout=subprocess.DEVNULL) as s:
            while not os.path.exists(os.path.join(place.path, "port")) and s.process.poll() is None:
                time.sleep(0.01)
            s.port = int(place.read("port"))
            t.ok(s.ask("GET", "/health")[0] == 200, "the port is in a file")
            s.signal()
            s.wait()


def check_log(t):
    with Place() as place, model(place) as m:
        with serve(place, m, *MEMORY, "--log-format", "json", env={"AGENTIC_CODE_INTERPRETER_ENABLE": "1"}) as s:
            s.wait_line()
            s.ask("POST", "/v1/responses", {"model": "m", "input": "a secret of the user"})
            s.signal()
            s.wait()
            lines = [json.loads(line) for line in s.errors.splitlines()]
            good = all({"time", "level", "message"} <= set(line) for line in lines)
            t.ok(good and any("ready at" in line["message"] for line in lines), "the log is JSON, a line an event", s.errors)
            t.ok(any(line.get("request_id") for line in lines), "a request has its id", s.errors)
            t.ok(any("did you mean" in line["message"] for line in lines), "warnings are in it", s.errors)
            t.ok(b"a secret" not in s.errors, "what a client says is not", s.errors)


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def check_interpreter(t):
    with Place() as place, model(place) as m:
        with serve(place, m, *MEMORY, "--code-interpreter", env={"OPENAI_API_KEY": "sk-hidden"}) as s:
            t.ok(s.wait_line(), "the interpreter starts", s.errors)
            item = s.run_code("print(6 * 7)")
            t.ok(item["status"] == "completed" and item["outputs"] == [{"type": "logs", "logs": "42\n"}], "a program runs", item)

            supervisors = children_of(s.process.pid)
            t.ok(len(supervisors) == 1, "one child: the supervisor", supervisors)
            with open("/proc/%d/environ" % supervisors[0], "rb") as f:
                t.ok(f.read() == b"", "its environment is empty")
            os.kill(supervisors[0], signal.SIGKILL)
            item, end = {"status": None}, time.monotonic() + 120
            while item["status"] != "completed" and time.monotonic() < end:
                item = s.run_code("print(7 * 7)")
                time.sleep(0.05)
            t.ok(item["status"] == "completed" and s.process.poll() is None, "a supervisor that dies is replaced", item, s.errors)

            c = stream(s, "import time; time.sleep(2); print('to the end')")
            s.signal()
            data = rest_of(c)
            status = s.wait()
            t.ok(b"to the end" in data and b"response.completed" in data and status == 0, "what is under way is finished first",
                 status, data[-300:])
        with serve(place, m, *MEMORY, "--code-interpreter") as s:
            s.wait_line()
            supervisors = children_of(s.process.pid)
            c = stream(s, "while True: pass")
            s.signal()
            time.sleep(0.5)  # a second signal within a fifth of a second counts as an echo
            s.signal(signal.SIGINT)
            status = s.wait()
            t.ok(status == 130, "a second signal ends it at once", status, s.errors)
            c.close()
            end = time.monotonic() + 60
            while any(os.path.exists("/proc/%d" % p) for p in supervisors) and time.monotonic() < end:
                time.sleep(0.05)
            t.ok(not any(os.path.exists("/proc/%d" % p) for p in supervisors), "and nothing is left of it")


def main():
    places.need("mayfly", "zygote", "runtime")
    t = tap.Tap()
    check_start_and_end(t)
    check_secrets(t)
    check_refusals(t)
    check_waiting(t)
    check_places(t)
    check_log(t)
    check_interpreter(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
