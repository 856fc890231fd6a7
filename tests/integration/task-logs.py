#!/usr/bin/env python3
"""No log has anything of a person or a program: what a server says on standard error, as text and as JSON, at its most talkative, and
what the command says, over all that can become of a task; nor has a process anything of it in its arguments or environment."""
import json
import os
import signal
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "cli")]

import command  # noqa: E402
import gateway  # noqa: E402
import leaks  # noqa: E402
import tap  # noqa: E402
from tasks import FORM, Server, coded, form, form_request, part, raw, request  # noqa: E402

# What is planted; one word for each kind, so that a failure says what has got out.
WORDS = {kind: "planted-" + kind + "-5e8a" for kind in
         ("code", "content", "name", "output", "artifact", "made", "key", "idempotency", "foreign", "member", "path", "source")}
BAD = " ".join(WORDS.values())
t = tap.Tap()


def auth(key=WORDS["key"]):
    return {"Authorization": "Bearer " + key}


def program(last=""):
    return ("# %(code)s\nimport sys\nprint(open('%(name)s.csv').read() if '%(name)s' else '')\nprint('%(output)s')\n"
            "print('%(output)s', file=sys.stderr)\nopen('%(made)s.txt', 'w').write('%(artifact)s')\n" % WORDS) + last


FILES = {WORDS["name"] + ".csv": WORDS["content"].encode()}
ENDINGS = {
    "succeeds": "", "fails": "raise ValueError('%s')\n" % WORDS["output"], "exits": "sys.exit('%s')\n" % WORDS["output"],
    "is killed": "import os\nos.abort()\n", "takes memory": "x = '%s' * (1 << 30)\n" % WORDS["output"],
    "takes time": "import time\ntime.sleep(50)\n", "talks": "print('%s' * 200000)\n" % WORDS["output"],
    "is denied": "import socket\ntry:\n    socket.create_connection(('%s.example', 80))\nexcept OSError as e:\n    raise\n" % WORDS["output"],
    "links": "import os\nos.symlink('/etc/%s', 'x')\nos.symlink('%s', '%s')\n" % (WORDS["path"], WORDS["path"], WORDS["made"]),
    "has no syntax": "if '%s' +\n" % WORDS["code"],
}


def runs(g):
    """Every end; both ways to send files; followers, downloads, lists."""
    problems, artifacts = [], []
    for what, last in ENDINGS.items():
        limits = {"timeoutMs": 1500 if what == "takes time" else 30000, "memoryMb": 256}
        headers = {**auth(), "Idempotency-Key": WORDS["idempotency"] + what.replace(" ", "-")}
        status, _, task = g.json("POST", "/v1/tasks", request(program(last), FILES, limits=limits, source_name=WORDS["source"] + ".py"), headers)
        if status != 202:
            problems.append("%s: %d %s" % (what, status, task))
            continue
        path = "/v1/tasks/" + task["taskId"]
        g.call("GET", path + "/events", None, auth())
        end = g.json("GET", path + "?wait=60", None, auth())[2]
        if what not in ("has no syntax",) and WORDS["output"] not in end["stdout"]:
            problems.append("%s: %s" % (what, end))
        artifacts += end["artifacts"]
        for a in end["artifacts"]:
            for more in ({}, {"Range": "bytes=0-2"}, {"Range": "bytes=" + WORDS["member"]}, {"If-None-Match": WORDS["member"]}):
                g.call("GET", a["url"], None, {**auth(), **more})
        for method, rest in (("POST", "/cancel"), ("GET", "/artifacts/" + WORDS["path"]), ("GET", "/events?after=" + WORDS["path"])):
            g.call(method, path + rest, None, auth())
    status, _, task = g.json("POST", "/v1/tasks", form(form_request(program()), part("files", WORDS["content"].encode(), WORDS["name"] + ".csv")),
                             {**FORM, **auth()})
    end = g.json("GET", "/v1/tasks/%s?wait=60" % task["taskId"], None, auth())[2] if status == 202 else task
    if WORDS["content"] not in end.get("stdout", ""):
        problems.append("form: %s" % end)
    t.check("programs with planted words end in all ways", problems)
    t.ok(artifacts, "and made files")


def bad_requests(g):
    """The words in every field that can be wrong."""
    good = request(program(), FILES)
    bodies = [dict(good, **{WORDS["member"]: 1}), dict(good, language=WORDS["member"]), dict(good, code=[WORDS["code"]]),
              dict(good, limits={WORDS["member"]: 1}), dict(good, limits={"timeoutMs": WORDS["member"]}), dict(good, limits=WORDS["member"]),
              dict(good, policy={"network": WORDS["member"]}), dict(good, policy={"packages": WORDS["member"]}),
              dict(good, source_name="../" + WORDS["source"]), dict(good, source_name=[WORDS["source"]]),
              dict(good, files=[{"name": "../" + WORDS["name"], "content": ""}]), dict(good, files=[{"name": WORDS["name"] + "\n", "content": ""}]),
              dict(good, files=[{"name": WORDS["name"], "content": WORDS["content"]}]),
              dict(good, files=[{"name": WORDS["name"], "content": coded(b"x")}] * 2), dict(good, files=[{"name": WORDS["name"], WORDS["member"]: ""}]),
              dict(good, code="\0" + WORDS["code"]), BAD, [BAD]]
    answers = [g.call("POST", "/v1/tasks", b, auth())[0] for b in bodies]
    answers += [g.call("POST", "/v1/tasks", b, {**auth(), "Content-Type": "application/json"})[0]
                for b in (BAD.encode(), ('{"code":"%s' % BAD).encode(), b"\xff" + BAD.encode())]
    whole = form_request(program())
    forms = [[part(WORDS["member"], b"x")], [whole, part("files", BAD.encode(), "../" + WORDS["name"])],
             [whole, part("files", BAD.encode(), WORDS["name"], more="\r\nContent-Transfer-Encoding: " + WORDS["member"])],
             [part("request", BAD.encode())], [whole, part("files", b"", WORDS["name"]), part("files", b"", WORDS["name"])]]
    answers += [g.call("POST", "/v1/tasks", form(*f), {**FORM, **auth()})[0] for f in forms]
    answers.append(g.call("POST", "/v1/tasks", form(whole, part("files", BAD.encode(), WORDS["name"]), end=False), {**FORM, **auth()})[0])
    for name in ("Content-Type", "Content-Encoding"):
        answers.append(g.call("POST", "/v1/tasks", b"{}", {**auth(), "Content-Type": "application/json", name: WORDS["member"]})[0])
    answers.append(g.call("POST", "/v1/tasks", good, {**auth(), "Idempotency-Key": WORDS["idempotency"] + "\x7f"})[0])
    g.call("POST", "/v1/tasks", request("1"), {**auth(), "Idempotency-Key": WORDS["idempotency"]})
    answers.append(g.call("POST", "/v1/tasks", request("2"), {**auth(), "Idempotency-Key": WORDS["idempotency"]})[0])
    t.ok(all(400 <= a < 500 for a in answers), "%d requests with them are refused" % len(answers), answers)


def strangers(g):
    """Wrong keys, unknown ids, odd queries, an upload that is cut, no HTTP at all."""
    answers = []
    for headers in (auth(WORDS["foreign"]), {"Authorization": "Basic " + WORDS["foreign"]}, {"Authorization": WORDS["foreign"]}, {},
                    auth("mayfly_" + "0" * 24 + "_" + WORDS["foreign"])):
        answers.append(g.call("POST", "/v1/tasks", request(program(), FILES), headers)[0])
        answers.append(g.call("GET", "/v1/tasks/" + WORDS["path"], None, headers)[0])
    t.ok(set(answers) == {401}, "wrong keys are refused", answers)
    for method, path in (("GET", "/v1/tasks/%s"), ("DELETE", "/v1/tasks/%s"), ("POST", "/v1/tasks/%s/cancel"), ("GET", "/v1/tasks/%s/events"),
                         ("GET", "/v1/tasks/..%%2f%s"), ("GET", "/v1/tasks?after=%s"), ("GET", "/v1/tasks?status=%s"), ("GET", "/v1/tasks?limit=%s"),
                         ("GET", "/v1/tasks?%s=1"), ("GET", "/v1/%s"), ("PUT", "/v1/tasks/%s")):
        g.call(method, path % WORDS["path"], None, auth())
    head = "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 100000\r\n\r\n"
    raw(g, head % (WORDS["key"], FORM["Content-Type"]), form_request(program()), part("files", BAD.encode(), WORDS["name"])[:-10], then="half-close")
    raw(g, "%s %s HTTP/1.1\r\n%s: %s\r\n\r\n" % ((WORDS["member"],) * 4), then="half-close")
    raw(g, BAD + "\r\n\r\n", then="half-close")


def commands(g):
    """What the command says of itself; a program's own words and files are shown and belong to its user."""
    said = {}
    env = {"MAYFLY_SERVER": "http://127.0.0.1:%d" % g.port, "MAYFLY_API_KEY": WORDS["key"]}
    with command.Place() as place:
        place.file("job.py", "# %(code)s\nprint(open('in.csv').read())\nopen('out.txt', 'w').write('%(artifact)s')\n" % WORDS)
        place.file("in.csv", WORDS["content"])
        done = place.run("submit", "job.py", "-f", "in.csv", env=env)
        task_id = done.stdout.decode().strip()
        said["submit"] = done
        for words in (("submit", "--wait", "job.py", "-f", "in.csv"), ("run", "job.py", "-f", "in.csv", "-r"), ("get", "--wait", task_id), ("tasks",),
                      ("fetch", task_id, "-o", "got"), ("fetch", task_id, "-o", "got"), ("cancel", task_id), ("get", "task_unknown")):
            said[words[0] + str(len(said))] = place.run(*words, env=env)
        fetched = place.read("got/out.txt").decode() if "got/out.txt" in place.names() else ""
        for words in (("submit", "job.py"), ("get", task_id), ("fetch", task_id), ("tasks",), ("run", "job.py", "-f", "in.csv")):
            said["with a wrong key, " + words[0]] = place.run(*words, env=dict(env, MAYFLY_API_KEY=WORDS["foreign"]))
        said["without a server, run"] = place.run("run", "job.py", "-f", "in.csv", "-r", env=dict(env, MAYFLY_SERVER="off"))
        said["without a server, submit"] = place.run("submit", "job.py", env=dict(env, MAYFLY_SERVER="http://127.0.0.1:9"))
    t.ok(task_id.startswith("task_") and fetched == WORDS["artifact"], "the command has its task, and its file", said["submit"], fetched)
    secrets = [w for k, w in WORDS.items() if k in ("code", "content", "artifact", "key", "foreign", "output")]
    t.check("standard error of the command has no key, code or content",
            ["%s: %r" % (name, done.stderr[-600:]) for name, done in said.items() if any(s.encode() in done.stderr for s in secrets)])
    t.check("and standard output no key", ["%s: %r" % (name, done.stdout[-600:]) for name, done in said.items()
                                           if any(WORDS[k].encode() in done.stdout for k in ("key", "foreign"))])


def processes(g):
    """While a program runs: nobody on this machine reads it in a list of processes."""
    status, _, task = g.json("POST", "/v1/tasks", request(program("import time\ntime.sleep(30)\n"), FILES), auth())
    g.until("output", lambda: (WORDS["output"] in g.json("GET", "/v1/tasks/" + task["taskId"], None, auth())[2]["stdout"], "none"))
    seen = []
    for pid in [g.pid, *leaks.descendants(g.pid)]:
        for name in ("cmdline", "environ", "comm"):
            try:
                with open("/proc/%d/%s" % (pid, name), "rb") as f:
                    data = f.read()
            except OSError:
                continue
            seen += ["%s of %d has the %s" % (name, pid, k) for k, w in WORDS.items() if w.encode() in data]
    t.check("no process has them in its arguments or environment", seen)
    return task["taskId"]


def told(log):
    return ["the log has the %s: %s" % (k, next(x for x in log.splitlines() if w in x)[:600]) for k, w in WORDS.items() if w in log]


def check_form(log_format):
    """One server from its start to its end, killed and started again, with tasks that expire and one that is interrupted."""
    env = {"MAYFLY_LOG_FORMAT": log_format, "MAYFLY_LOG_LEVEL": "debug", "MAYFLY_API_KEYS": WORDS["key"]}
    with Server(env=env, tasks={"max_files_bytes": 40 << 20}) as g:
        runs(g)
        bad_requests(g)
        strangers(g)
        commands(g)
        g.call("POST", "/v1/tasks", request(program(), {WORDS["name"]: bytes(20 << 20), WORDS["name"] + "2": bytes(1)}), auth())
        task_id = processes(g)
        t.ok(g.process.send_signal(signal.SIGKILL) is None and g.process.wait() == -9, "it is killed while one runs")
        t.check("no process is left", leaks.strays_left())
        with Server(home=g.home, env=env, tasks={"retention_seconds": 1}) as h:
            other = h.json("POST", "/v1/tasks", request(program(), FILES), auth())[2]["taskId"]
            for i in (task_id, other):
                t.check("it expires", h.until("410", lambda: (h.call("GET", "/v1/tasks/" + i, None, auth())[0] == 410, "not yet")))
            h.call("GET", "/v1/tasks/" + task_id + "/artifacts/" + WORDS["path"], None, auth())
            t.ok(h.stop_keeping_home() == 0, "the second one ends well", h.log()[-2000:])
        log = g.log()
        t.check("the log as %s has none of what was planted" % log_format, told(log))
        lines = log.splitlines()
        whole = [json.loads(x) for x in lines] if log_format == "json" else lines
        t.ok(len(whole) > 50 and sum(task_id in str(x) for x in whole) >= 1, "and it has something, of tasks too", len(whole), lines[-5:])


def main():
    gateway.need()
    leaks.adopt_orphans()
    before = leaks.Snapshot()
    for log_format in ("text", "json"):
        check_form(log_format)
    t.check("nothing is left behind", before.left())
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
