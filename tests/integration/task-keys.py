#!/usr/bin/env python3
"""Two keys of one server cannot see, cancel, fetch, delete or guess each other's tasks; nor can who has none."""
import http.client
import json
import os
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

PATIENCE = 60
SECRET = "planted-4f1d"
CODE = "open('%s.txt', 'w').write('%s'); print('%s')" % ((SECRET,) * 3)


class Client:
    """Somebody with a key (or none), over the port or the socket."""

    def __init__(self, server, key=None, unix_path=None):
        self.server, self.key, self.unix_path = server, key, unix_path

    def ask(self, method, path, body=None, headers=()):
        """Status, headers in lower case, bytes."""
        c = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        if self.unix_path:
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.settimeout(PATIENCE)
            c.sock.connect(self.unix_path)
        try:
            headers = {**({"Authorization": "Bearer " + self.key} if self.key else {}), **dict(headers)}
            if body is not None:
                headers["Content-Type"] = "application/json"
            c.request(method, path, json.dumps(body) if body is not None else None, headers)
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
        finally:
            c.close()

    def json(self, method, path, body=None, headers=()):
        status, _, data = self.ask(method, path, body, headers)
        return status, json.loads(data) if data else None

    def submit(self, code=CODE, **headers):
        status, task = self.json("POST", "/v1/tasks", {"language": "python", "code": code}, headers)
        if status not in (200, 202):
            raise SystemExit("submit: %s %s" % (status, task))
        return task["taskId"]

    def wait(self, task_id):
        while True:
            _, task = self.json("GET", "/v1/tasks/%s?wait=60" % task_id)
            if task["status"] not in ("queued", "running"):
                return task

    def ids(self):
        return [x["taskId"] for x in self.json("GET", "/v1/tasks?limit=100")[1]["data"]]


def new_key(home):
    done = subprocess.run([places.mayfly(), "key", "create", "--json"], env=dict(os.environ, AGENTIC_API_HOME=home), check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def every_door(client, task_id, artifact_id):
    """{what was tried: status and body}"""
    at = "/v1/tasks/" + task_id
    return {"get": client.ask("GET", at), "wait": client.ask("GET", at + "?wait=1"), "events": client.ask("GET", at + "/events"),
            "artifact": client.ask("GET", at + "/artifacts/" + artifact_id), "head": client.ask("HEAD", at + "/artifacts/" + artifact_id),
            "cancel": client.ask("POST", at + "/cancel"), "after": client.ask("GET", "/v1/tasks?after=" + task_id),
            "delete": client.ask("DELETE", at)}


def check_apart(t, server, people):
    made = {}
    for name, client in people.items():
        made[name] = client.wait(client.submit())
    for name, task in made.items():
        t.ok(task["status"] == "succeeded" and SECRET in task["stdout"] and len(task["artifacts"]) == 1,
             "%s runs a task and sees it" % name, task)
    unknown = "task_01a2284c-66a8-7f90-b67e-ac279ac39149"
    for owner, task in made.items():
        artifact_id = task["artifacts"][0]["artifactId"]
        for other, client in people.items():
            if other == owner:
                continue
            tried = every_door(client, task["taskId"], artifact_id)
            nothing = every_door(client, unknown, artifact_id)
            problems = ["%s: %d" % (what, got[0]) for what, got in tried.items() if got[0] != 404]
            problems += ["%s holds what is not its own" % what for what, got in tried.items() if SECRET.encode() in got[2]]
            # An id of another must not be told from one that never was.
            problems += ["%s: %r, and of an unknown id %r" % (what, got[2], nothing[what][2]) for what, got in tried.items()
                         if got[2].replace(task["taskId"].encode(), b"ID") != nothing[what][2].replace(unknown.encode(), b"ID")]
            t.check("%s cannot reach a task of %s" % (other, owner), problems)
        t.ok(made[owner]["taskId"] in people[owner].ids() and
             people[owner].ask("GET", task["artifacts"][0]["url"])[2].decode() == SECRET, owner + " still has it whole")
    for name, client in people.items():
        t.ok(client.ids() == [made[name]["taskId"]], "the list of %s is its own" % name, client.ids())
    return made


def check_idempotency(t, people):
    ids = {name: client.submit("print(1)", **{"Idempotency-Key": "the-same"}) for name, client in people.items()}
    t.ok(len(set(ids.values())) == len(ids), "the same idempotency key of two owners is two tasks", ids)
    again = {name: client.submit("print(1)", **{"Idempotency-Key": "the-same"}) for name, client in people.items()}
    t.ok(again == ids, "and each finds its own again", again)


def check_running(t, people):
    """What runs cannot be ended by another."""
    names = list(people)
    task_id = people[names[0]].submit("import time; time.sleep(30)")
    for name in names[1:]:
        t.ok(people[name].ask("POST", "/v1/tasks/%s/cancel" % task_id)[0] == 404, "%s cannot cancel what runs" % name)
    status, task = people[names[0]].json("GET", "/v1/tasks/" + task_id)
    t.ok(status == 200 and task["status"] in ("queued", "running"), "it goes on", task)
    people[names[0]].ask("POST", "/v1/tasks/%s/cancel" % task_id)
    t.ok(people[names[0]].wait(task_id)["status"] == "cancelled", "its owner can")


def check_strangers(t, server, made):
    task = made["key A"]
    for name, key in [("nobody", None), ("a wrong key", "mayfly_" + "0" * 24 + "_" + "0" * 32), ("an id as a key", "key_" + "0" * 24)]:
        tried = every_door(Client(server, key), task["taskId"], task["artifacts"][0]["artifactId"])
        t.check("%s gets 401 everywhere" % name, ["%s: %d" % (w, got[0]) for w, got in tried.items() if got[0] != 401])


def check_revoked(t, server, people, key):
    task_id = people["key A"].submit("print(1)")
    subprocess.run([places.mayfly(), "key", "revoke", key["id"]], env=dict(os.environ, AGENTIC_API_HOME=server.home), check=True,
                   stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while people["key A"].ask("GET", "/v1/tasks")[0] != 401 and time.monotonic() < end:
        time.sleep(0.05)
    t.ok(people["key A"].ask("GET", "/v1/tasks/" + task_id)[0] == 401, "a revoked key sees nothing any more")
    t.ok(people["key B"].ask("GET", "/v1/tasks/" + task_id)[0] == 404, "and its tasks are nobody else's")


def main():
    places.need("mayfly", "zygote", "runtime")
    t = tap.Tap()
    with gateway.Gateway("http://127.0.0.1:1", env={"MAYFLY_API_KEYS": "configured-one,configured-two"}) as server:
        a, b = new_key(server.home), new_key(server.home)
        people = {"key A": Client(server, a["key"]), "key B": Client(server, b["key"]),
                  "a configured key": Client(server, "configured-one"), "another": Client(server, "configured-two"),
                  "the socket": Client(server, unix_path=os.path.join(server.home, "mayfly.sock"))}
        made = check_apart(t, server, people)
        check_strangers(t, server, made)
        check_idempotency(t, people)
        check_running(t, people)
        check_revoked(t, server, people, a)
        log = server.log()
        secrets = [SECRET, a["key"], a["key"][32:], b["key"][32:], "configured-one", "the-same"]
        t.check("the log has no key, code, name or output", [s for s in secrets if s in log])
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
