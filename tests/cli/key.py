#!/usr/bin/env python3
"""`mayfly key`, and what keys and the local socket mean to a server that runs."""
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import sys
import time

from command import NOBODY, Place, one_line

import places
import serving
import tap

PATIENCE = 60  # seconds until what must come soon counts as not coming


def key(place, *words, env=None):
    return place.run("key", *words, env={"AGENTIC_API_HOME": os.path.join(place.path, "home"), **(env or {})})


def create(place, *words, env=None):
    """A new key and its id."""
    done = key(place, "create", "--json", *words, env=env)
    made = json.loads(done.stdout)
    return made["key"], made["id"]


def bearer(text):
    return {"Authorization": "Bearer " + text}


# ---- the command ----

def check_command(t):
    with Place() as place:
        done = key(place, "create", "--name", "ci \u00fc")
        text = done.stdout.decode().strip()
        good = done.returncode == 0 and re.fullmatch(r"mayfly_[0-9a-z]{24}_[0-9a-z]{32}", text)
        t.ok(good and text not in done.stderr.decode() and b"key_" + text[7:31].encode() in done.stderr,
             "create prints the key alone, and words about it elsewhere", done.stdout, done.stderr)
        second, second_id = create(place)
        listed = json.loads(key(place, "list", "--json").stdout)
        t.ok([(k["name"], k["revokedAt"]) for k in listed["data"]] == [("ci \u00fc", None), ("", None)] and
             listed["data"][1]["id"] == second_id, "list --json has both", listed)
        t.ok("key" not in listed["data"][0], "and no secret", listed)
        done = key(place, "revoke", second_id)
        t.ok(done.returncode == 0 and not done.stdout and second_id.encode() in done.stderr, "revoke", done.stderr)
        done = key(place, "revoke", second_id, "--json")
        t.ok(json.loads(done.stdout) == {"id": second_id, "revoked": True}, "again is fine", done.stdout, done.stderr)
        lines = key(place, "list").stdout.decode().splitlines()
        t.ok(lines[0].split() == ["ID", "CREATED", "REVOKED", "NAME"] and " no " in lines[1] and " no " not in lines[2],
             "list", lines)

        for words, part in [([], "create, list or revoke"), (["make"], "create, list or revoke"), (["revoke"], "needs the id"),
                            (["revoke", "x"], "no id of a key"), (["list", "x"], "one word too many"),
                            (["list", "--name", "x"], "takes no --name"), (["create", "--name", "x" * 101], "--name"),
                            (["create", "--name", "a\nb"], "--name"), (["create", "--key", "x"], "--key")]:
            t.check("wrong words: key " + " ".join(words)[:20], one_line(key(place, *words), part, status=2))
        done = key(place, "revoke", second)
        t.check("a key on the command line is refused, and not repeated", one_line(done, "never the key itself", status=2) +
                ([done.stderr] if second[32:].encode() in done.stderr else []))
        t.check("revoke of an unknown id", one_line(key(place, "revoke", "key_" + "0" * 24), "there is no key_", status=1))
        t.check("no keys in memory", one_line(key(place, "create", env={"DATABASE_URL": "sqlite::memory:"}), "in memory", status=1))
        t.check("a database that cannot be opened", one_line(key(place, "list", "--db-url", "/nowhere/x.db"), "/nowhere", status=1))

        home = os.path.join(place.path, "home")
        raw = b"".join(place.read(os.path.join("home", n)) for n in os.listdir(home))
        t.ok(second[32:].encode() not in raw and text[32:].encode() not in raw, "the database holds no secret")
        t.ok(oct(os.stat(os.path.join(home, "mayfly.db")).st_mode & 0o777) == "0o600", "and nobody else may read it")


# ---- a server that runs ----

def ask(server, headers=()):
    return server.ask("GET", "/v1/models", headers=headers)[0]


def soon(question, want):
    """Asks until the answer is `want`; the last answer."""
    end = time.monotonic() + PATIENCE
    got = question()
    while got != want and time.monotonic() < end:
        time.sleep(0.05)
        got = question()
    return got


def check_server(t):
    with Place() as place, serving.model(place) as model, serving.serve(place, model, "--skip-llm-ready-check") as server:
        server.wait_line()
        t.ok(ask(server) == 200, "without keys everybody is let in")
        text, key_id = create(place, "--name", "first")
        t.ok(ask(server, bearer(text)) == 200, "a key that was just made is good")
        t.ok(soon(lambda: ask(server), 401) == 401, "and from then on others need one")
        status, data = server.ask("GET", "/v1/models")
        error = json.loads(data)["error"]
        t.ok((error["type"], error["code"]) == ("authentication_error", "missing_bearer_token"), "in the words of the API", data)
        for name, wrong in [("another secret", text[:-1] + ("a" if text[-1] != "a" else "b")), ("cut", text[:-1]),
                            ("longer", text + "a"), ("another id", text[:8] + ("a" if text[8] != "a" else "b") + text[9:]),
                            ("its id", key_id), ("its digest", "0" * 64), ("upper case", text.upper())]:
            t.ok(ask(server, bearer(wrong)) == 401, "refused: " + name)
        t.ok(server.ask("GET", "/health")[0] == 200, "health needs none")
        key(place, "revoke", key_id)
        t.ok(soon(lambda: ask(server, bearer(text)), 401) == 401, "a revoked key ends")
        t.ok(ask(server) == 401, "and opens the door to nobody")
        other, _ = create(place)
        t.ok(ask(server, bearer(other)) == 200, "another one works")
        with open("/proc/%d/cmdline" % server.process.pid, "rb") as f:
            title = f.read()
        server.signal()
        server.wait()
        seen = title + server.errors
        t.ok(not any(k[32:].encode() in seen for k in (text, other)), "no secret in the log and the process's title")


def check_exposed(t):
    with Place() as place:
        with serving.serve(place, "http://127.0.0.1:1", "--skip-llm-ready-check", "--gateway-host", "0.0.0.0") as server:
            t.ok(server.wait_line() == "" and server.wait() == 1 and b"no key is set" in server.errors,
                 "beyond this machine a server wants a key", server.errors)
        home = {"AGENTIC_API_HOME": os.path.join(place.path, "home")}
        t.check("config says so, too", one_line(place.run("config", "--gateway-host", "0.0.0.0", env=home), "no key is set", status=1))
        text, _ = create(place)
        t.ok(place.run("config", "--gateway-host", "0.0.0.0", env=home).returncode == 0, "and looks for stored ones")
        with serving.serve(place, "http://127.0.0.1:1", "--skip-llm-ready-check", "--gateway-host", "0.0.0.0") as server:
            good = server.wait_line().startswith("listening on http://0.0.0.0:")
            t.ok(good and ask(server) == 401, "a stored one counts", server.errors)
            t.ok(good and ask(server, bearer(text)) == 502, "and lets in", server.errors)
            server.signal()
            server.wait()
            t.ok(b"who reaches" not in server.errors, "without a warning", server.errors)


# ---- the local socket ----

class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


def ask_socket(path, headers=()):
    """The status, or what went wrong."""
    c = UnixConnection(path)
    try:
        c.request("GET", "/v1/models", headers={"Host": "foreign.example", **dict(headers)})
        return c.getresponse().status
    except (OSError, http.client.HTTPException) as e:
        return type(e).__name__
    finally:
        c.close()


def as_another_user(path):
    """What an ordinary user gets from the socket: b"nothing", an answer, or why he could not connect."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(PATIENCE)
            s.connect(path)
            try:
                s.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
                got = s.recv(1000)
            except ConnectionError:
                got = b""
            os.write(write, got or b"nothing")
        except OSError as e:
            os.write(write, repr(e).encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    got = os.read(read, 1000)
    os.close(read)
    return got


def check_socket(t):
    with Place() as place, serving.model(place) as model:
        path = os.path.join(place.path, "home", "mayfly.sock")
        words = ["--skip-llm-ready-check"]
        text, _ = create(place)
        with serving.serve(place, model, *words, env={"MAYFLY_API_KEYS": "configured"}) as server:
            server.wait_line()
            mode = os.stat(path).st_mode
            t.ok(oct(mode) == oct(0o140600), "the socket is this user's alone", oct(mode))
            t.ok(ask(server) == 401 and ask_socket(path) == 200, "where others need a key, its user does not")
            t.ok(ask_socket(path, bearer(text)) == 200 and ask_socket(path, bearer("nonsense")) == 200,
                 "with or without one")
            with serving.serve(place, model, *words) as second:
                second.wait_line()
                t.ok(ask(second, bearer(text)) == 200, "a second server of the same home serves")
                second.signal()
                second.wait()
                t.ok(b"no local socket" in second.errors and b"somebody listens there already" in second.errors,
                     "and leaves the first one's socket alone", second.errors)
            t.ok(ask_socket(path) == 200, "which goes on")
            if os.geteuid() == 0:
                os.chmod(path, 0o666)
                os.chmod(os.path.dirname(path), 0o755)
                got = as_another_user(path)
                t.ok(got == b"nothing", "another user is turned away even where the mode lets him in", got)
            else:
                t.skip("another user is turned away", "needs root to become one")
            server.process.send_signal(signal.SIGKILL)
            server.wait()
        t.ok(os.path.exists(path), "a killed server leaves its socket's file")
        with serving.serve(place, model, *words) as server:
            server.wait_line()
            t.ok(ask_socket(path) == 200, "the next one replaces it")
            server.signal()
            t.ok(server.wait() == 0 and not os.path.exists(path), "an orderly end removes it", server.errors)
            t.ok(b"warn" not in server.errors, "nothing to warn of", server.errors)
        for name, more, env in [("--no-local-socket", ["--no-local-socket"], {}), ("the key off", [], {"MAYFLY_LOCAL_SOCKET": "false"})]:
            with serving.serve(place, model, *words, *more, env=env) as server:
                server.wait_line()
                t.ok(not os.path.exists(path) and ask(server, bearer(text)) == 200, name + ": none")
                server.signal()
                server.wait()
                t.ok(b"local socket" not in server.errors, name + ": not a word", server.errors)
        os.chmod(os.path.dirname(path), 0o770)
        with serving.serve(place, model, *words) as server:
            server.wait_line()
            t.ok(not os.path.exists(path) and ask(server, bearer(text)) == 200, "in a home that others can write to: none")
            server.signal()
            server.wait()
            t.ok(b"others may write to it" in server.errors, "and it says so", server.errors)
        os.chmod(os.path.dirname(path), 0o700)
        deep = os.path.join(place.path, "d" * 120)
        with serving.serve(place, model, *words, env={"AGENTIC_API_HOME": deep}) as server:
            server.wait_line()
            t.ok(ask(server) == 200, "with a home whose path is too long for a socket it serves")
            server.signal()
            server.wait()
            t.ok(b"no local socket" in server.errors, "and says so", server.errors)


def check_database(t):
    """Both use the file at the same time."""
    with Place() as place, serving.model(place) as model, serving.serve(place, model, "--skip-llm-ready-check") as server:
        server.wait_line()
        busy = sqlite3.connect(os.path.join(place.path, "home", "mayfly.db"), isolation_level=None)
        busy.execute("BEGIN IMMEDIATE")
        p = place.start("key", "create", env={"AGENTIC_API_HOME": os.path.join(place.path, "home")})
        time.sleep(0.5)
        busy.execute("ROLLBACK")
        busy.close()
        out, err = p.communicate(timeout=PATIENCE)
        t.ok(p.returncode == 0 and out.startswith(b"mayfly_"), "a writer that holds the database is waited for", out, err)
        made = [create(place)[0] for _ in range(3)]
        t.ok([ask(server, bearer(k)) for k in made] == [200] * 3, "keys made one after the other are all good")


def main():
    places.need("mayfly")
    t = tap.Tap()
    for check in (check_command, check_server, check_exposed, check_socket, check_database):
        check(t)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
