#!/usr/bin/env python3
"""The gates before the code interpreter: the provider must be built in, and it must be enabled. What a client is told at
each, in every form of a request, also when the tool comes with a response that was stored before.

With a program that has the wasm provider only the second gate can be seen."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import cli  # noqa: E402
import gateway as g  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

BUILD = "tool error: invalid tool config: code_interpreter is disabled; rebuild with the embedded-code-interpreter feature"
OPERATOR = ("tool error: invalid tool config: code_interpreter is disabled by operator configuration or its embedded runtime "
            "is not ready")
HELLO = {"loop": True, "rounds": [{"text": "hello"}]}


def refused(s, model, words, **more):
    """Problems unless this request is refused with these words, as plain HTTP and before the model is asked."""
    problems = []
    model.reset()
    for form in ({}, {"stream": True}, {"store": False}, {"stream": True, "store": False}):
        status, headers, data = s.call("POST", "/v1/responses", dict({"model": "hello", "input": "hi"}, **form, **more))
        try:
            error = json.loads(data)["error"]
        except (ValueError, KeyError):
            error = data
        if (status, headers["content-type"], error) != (400, "application/json", {
                "message": words, "type": "invalid_request_error", "code": "invalid_request_error"}):
            problems.append("%s: %s %s %r" % (form, status, headers["content-type"], error))
    if model.requests():
        problems.append("the model was asked")
    return problems


def check_gate(t, model, name, words, settings, home, stored):
    with g.Gateway(model, settings=settings, home=home) as s:
        t.check(name + ": a declaration is refused", refused(s, model, words, tools=[g.TOOL]))
        t.check(name + ": so is an inherited one", refused(s, model, words, previous_response_id=stored))
        status, _, data = s.call("POST", "/v1/responses", {"model": "hello", "input": "hi", "tools": [
            {"type": "code_interpreter", "container": {"type": "auto"}, "more": 1}]})
        t.ok(status == 400 and json.loads(data)["error"]["message"].startswith("json error: "),
             name + ": a wrong declaration is told so first", data)
        status, r = s.respond(model="hello", input="hi", tools=[{"type": "function", "name": "code_interpreter",
                                                                "parameters": {"type": "object", "properties": {}}}])
        t.ok(status == 200 and r["status"] == "completed", name + ": a client's function of that name is the client's", r)
        t.ok(s.call("GET", "/ready")[0] == 200, name + ": everything else is ready")
        t.ok(s.call("GET", "/v1/tasks")[0] != 200, name + ": there is no task API")
        return s.log()


def check_built(t, model):
    """Here a program can have the tool; a stored response of it is what the gates are shown afterwards."""
    home = tempfile.mkdtemp(prefix="mf-gates-")
    with g.Gateway(model, home=home) as s:
        status, r = s.respond(model="hello", input="hi", tools=[g.TOOL])
        t.ok(status == 200 and r["status"] == "completed", "enabled: the tool is taken", r)
    return home, r.get("id")


def check_start(t):
    """A server that would have nothing else to serve does not start."""
    with tempfile.TemporaryDirectory(prefix="mf-gates-") as home:
        done = cli.command("serve", "--code-interpreter", "--provider", "wasm", "--gateway-port", "0",
                           env=dict(os.environ, AGENTIC_API_HOME=home))
        words = done.stderr.decode()
        t.ok(done.returncode == 1 and "built without wasm" in words and "-Dembedded_code_interpreter=enabled" in words and
             words.startswith("mayfly: ") and words.count("\n") == 1,
             "not built in: a task API alone cannot be served, which is said with the remedy", done)


def main():
    places.need("mayfly", "zygote", "runtime")
    t = tap.Tap()
    doctor = json.loads(cli.command("doctor", "--json", "--provider", "wasm").stdout)
    with g.Model({"hello": HELLO}) as model:
        home, stored = check_built(t, model)
        check_gate(t, model, "not enabled", OPERATOR, {"enabled": "false"}, home, stored)
        if doctor["wasm"]["built"]:
            check_gate(t, model, "not enabled, wasm", OPERATOR, {"enabled": "false", "provider": "wasm"}, home, stored)
        else:
            log = check_gate(t, model, "not built in", BUILD, {"provider": "wasm"}, home, stored)
            told = [line for line in log.splitlines() if "built without wasm" in line and "code_interpreter.provider" in line]
            t.ok(len(told) == 1 and "-Dembedded_code_interpreter=enabled" in told[0], "not built in: one warning with the remedy",
                 log)
            check_gate(t, model, "neither", BUILD, {"provider": "wasm", "enabled": "false"}, home, stored)
            check_start(t)
    subprocess.run(["rm", "-rf", home], check=True)
    return t.done()


if __name__ == "__main__":
    sys.exit(main())
