#!/usr/bin/env python3
"""`mayfly model` over the wire: replies as JSON and as events, odd splits, each fault, conversations side by side."""
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

import gateway  # noqa: E402
import places  # noqa: E402
import tap  # noqa: E402

PATIENCE = 30  # seconds until a thing that must happen counts as not happening
t = tap.Tap()


class Model(gateway.Model):
    def __init__(self, scenario, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="mf-model-")
        path = scenario
        if not isinstance(scenario, str):
            path = os.path.join(self.folder.name, "scenario.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(scenario, f)
        self.serve(path, *options)

    def call(self, method, path, body=None, headers=()):
        """Status, headers, body. An unfinished body is in the exception."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            c.request(method, path, None if body is None else json.dumps(body), dict(headers))
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def ask(self, text="hi", stream=True, session=None, model="m", items=None):
        body = {"model": model, "input": items or text, "stream": stream}
        return self.call("POST", "/v1/responses", body, {"x-scenario-session": session} if session else {})


def events_of(data):
    """The events of a stream, and whether [DONE] ended it."""
    done, events = False, []
    for frame in data.decode().split("\n\n"):
        for line in frame.split("\n"):
            if line == "data: [DONE]":
                done = True
            elif line.startswith("data: "):
                events.append(json.loads(line[6:]))
    return events, done


def broken(events):
    """What is wrong with a complete stream."""
    problems = []
    types = [e["type"] for e in events]
    if [e["sequence_number"] for e in events] != list(range(len(events))):
        problems.append("sequence numbers")
    if types[:2] != ["response.created", "response.in_progress"] or types[-1] != "response.completed":
        problems.append("life cycle: %s" % types)
        return problems
    final = events[-1]["response"]
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    if done != final["output"]:
        problems.append("the items are not those of the response")
    for at, item in enumerate(done):
        mine = [e for e in events if e.get("output_index") == at]
        if any(e.get("item_id", item["id"]) != item["id"] for e in mine):
            problems.append("a foreign item_id at %d" % at)
        text = "".join(e["delta"] for e in mine if e["type"].endswith(".delta"))
        whole = item["arguments"] if item["type"] == "function_call" else item["content"][0]["text"]
        if text != whole:
            problems.append("deltas of %d: %r, not %r" % (at, text, whole))
    return problems


SALES = os.path.join(places.ROOT, "examples", "scenario", "sales.json")
FIBONACCI = os.path.join(places.ROOT, "examples", "scenario", "fibonacci.json")
TEXT = "Grüße: 3 € — 漢字 🙂 and some more words, so that there are several deltas."


def replies():
    rounds = [{"reasoning": "thinking", "text": TEXT, "calls": [{"name": "f", "arguments": {"a": [1, "x"]}},
                                                                  {"name": "g", "arguments": "{broken"}]}]
    with Model({"rounds": rounds, "loop": True}) as m:
        status, headers, data = m.ask()
        events, done = events_of(data)
        t.check("a stream of reasoning, text and two calls", broken(events))
        t.ok(status == 200 and headers["content-type"].startswith("text/event-stream") and done, "it is one, and ends")
        status, headers, data = m.ask(stream=False)
        r = json.loads(data)
        t.ok(headers["content-type"] == "application/json" and r["status"] == "completed", "a JSON reply", status, data)
        t.ok([i["type"] for i in r["output"]] == ["reasoning", "message", "function_call", "function_call"]
             and r["output"][1]["content"][0]["text"] == TEXT and r["output"][2]["arguments"] == '{"a":[1,"x"]}'
             and r["output"][3]["arguments"] == "{broken", "with the same items", data)
        t.ok(r["usage"]["total_tokens"] == r["usage"]["input_tokens"] + r["usage"]["output_tokens"], "usage adds up")
        status, _, data = m.call("POST", "/v1/responses", [1])
        t.ok(status == 400 and json.loads(data)["error"]["type"] == "invalid_request_error", "a bad request", data)
        status, _, data = m.call("GET", "/v1/nothing")
        t.ok(status == 404 and "error" in json.loads(data), "an unknown route", data)
        t.ok(m.call("GET", "/v1/responses")[0] == 405, "a wrong method")
        t.ok(json.loads(m.call("GET", "/health")[2]) == {"status": "ok"}, "health")
        data = json.loads(m.call("GET", "/v1/models")[2])
        t.ok([e["id"] for e in data["data"]] == ["scripted"], "models", data)
        chat = {"model": "m", "messages": [{"role": "user", "content": "echo me"}]}
        data = json.loads(m.call("POST", "/v1/chat/completions", chat)[2])
        t.ok(data["choices"][0]["message"]["content"] == "echo me", "a chat completion echoes", data)
        data = m.call("POST", "/v1/chat/completions", dict(chat, stream=True))[2]
        events, done = events_of(data)
        t.ok(done and events[0]["choices"][0]["delta"]["content"] == "echo me", "as a stream, too", data)
        t.ok(m.stop() == 0, "SIGTERM ends it well")


def given():
    rounds = [{"status": 429, "headers": {"Retry-After": "7"}}, {"body": {"id": "r", "n": 1.50}, "status": 503},
              {"events": [{"type": "response.odd", "x": 1}]}, {"events": ["data: raw"]}, {"body": "no { json"}]
    with Model({"rounds": rounds}) as m:
        status, headers, data = m.ask()
        t.ok(status == 429 and headers["retry-after"] == "7" and "error" in json.loads(data), "a status and a header", data)
        status, _, data = m.ask()
        t.ok(status == 503 and data == b'{"id":"r","n":1.5}', "a body", data)
        t.ok(m.ask()[2] == b'event: response.odd\ndata: {"type":"response.odd","x":1}\n\ndata: [DONE]\n\n', "given events")
        t.ok(m.ask()[2] == b"data: raw", "raw text is left alone")
        t.ok(m.ask()[2] == b"no { json", "a body that is no JSON")
        status, _, data = m.ask()
        t.ok(status == 500 and json.loads(data)["error"]["code"] == "scenario_exhausted", "no round is left", data)


def paths():
    given = {"/v1/completions": {"body": {"id": "c"}}, "/v1/models": {"status": 503, "body": "down"}}
    with Model({"scenarios": {"a": {"rounds": [{"text": "x"}]}}, "paths": given}) as m:
        for _ in range(2):
            t.ok(m.call("POST", "/v1/completions", {"n": 1})[2] == b'{"id":"c"}', "a path of the scenario, every time")
        t.ok(m.call("GET", "/v1/models")[0] == 503, "it stands for the route's answer")
        seen = json.loads(m.call("GET", "/_scenario/requests")[2])["requests"]
        t.ok([r["path"] for r in seen] == ["/v1/completions"] * 2 + ["/v1/models"] and seen[0]["body"] == {"n": 1},
             "and the requests are recorded", seen)


def splits():
    whole = {"text": TEXT, "calls": [{"name": "f", "arguments": {"code": "print('ü')"}}]}
    offsets = [1, 6, 7, 100, 1000, 1001, 10 ** 6]
    rounds = [whole, dict(whole, split="every 1 byte"), dict(whole, split="every 7 bytes"), dict(whole, split=offsets),
              dict(whole, delay_ms=1), dict(whole, fault="crlf", split="every 3 bytes")]
    with Model({"rounds": rounds}) as m:
        for name in ("none", "every byte", "every 7 bytes", "at offsets", "with delays", "CRLF"):
            _, _, data = m.ask()
            if name == "CRLF":
                t.ok(data.count(b"\n") == data.count(b"\r\n") > 20, "every line ends with CRLF")
                data = data.replace(b"\r\n", b"\n")
            events, done = events_of(data)
            t.check("split: " + name, broken(events) + ([] if done else ["no end"]))
    with Model({"rounds": [dict(whole, split="every 1000 bytes")]}) as m:
        with socket.create_connection(("127.0.0.1", m.port), PATIENCE) as s:
            body = b'{"stream":true}'
            s.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            data = b""
            while not data.endswith(b"\r\n0\r\n\r\n"):
                piece = s.recv(65536)
                if not piece:
                    break
                data += piece
        t.ok(data.count(b"\r\n3e8\r\n") > 2, "the pieces are chunks of that size", data[:300])


def faulty(m, stream=True):
    try:
        return m.ask(stream=stream)
    except (http.client.HTTPException, OSError) as e:
        return type(e).__name__, getattr(e, "partial", b"")


def faults():
    names = ["refuse", "reset_mid_event", "cut", "html", "huge_line", "wrong_type", "no_done"]
    with Model({"rounds": [{"text": TEXT, "fault": f} for f in names] + [{"text": TEXT}]}) as m:
        got = faulty(m)
        t.ok(got[0] in ("RemoteDisconnected", "ConnectionResetError"), "refuse: no answer at all", got)
        got = faulty(m)
        t.ok(got[0] in ("IncompleteRead", "ConnectionResetError"), "reset_mid_event: the connection breaks", got)
        status, _, data = faulty(m)
        events, done = events_of(data)
        t.ok(status == 200 and not done and len(events) > 2 and data.endswith(b"\n\n")
             and events[-1]["type"] != "response.completed", "cut: it ends well, but too early", data)
        status, headers, data = faulty(m)
        t.ok(status == 200 and headers["content-type"].startswith("text/html") and b"<h1>" in data, "html", data)
        status, headers, data = faulty(m)
        t.ok(status == 200 and len(data) > 32 << 20 and b"\n" not in data[200:], "huge_line", len(data))
        status, headers, data = faulty(m)
        t.ok(headers["content-type"] == "application/json" and data.startswith(b"event: "), "wrong_type", data[:100])
        events, done = events_of(faulty(m)[2])
        t.check("no_done: complete, without [DONE]", broken(events) + (["[DONE]"] if done else []))
        t.check("and the next reply is whole", broken(events_of(m.ask()[2])[0]))
    with Model({"rounds": [{"text": TEXT, "fault": "hang"}, {"text": TEXT, "fault": "cut"}]}) as m:
        with socket.create_connection(("127.0.0.1", m.port), PATIENCE) as s:
            s.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n" + b'{"stream":true}')
            data = b""
            while b"response.in_progress" not in data:
                data += s.recv(65536)
            status, _, cut = m.ask(stream=False)
            try:
                json.loads(cut)
                problems = ["it is whole"]
            except ValueError:
                problems = []
            t.check("cut: half of a JSON reply, while another one hangs", problems)
            t.ok(m.stop() == 0, "hang: it does not keep the program from ending")
            s.settimeout(PATIENCE)
            while True:
                try:
                    piece = s.recv(65536)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    break
                data += piece
        t.ok(b"response.completed" not in data, "hang: the rest never came")


def sessions():
    count = 20
    with Model({"rounds": [{"text": "%d of {{last_user_text}}" % i, "delay_ms": 1} for i in range(count)]}) as m:
        problems = []

        def talk(name):
            for i in range(count):
                _, _, data = m.ask(text=name, session=name)
                text = events_of(data)[0][-1]["response"]["output"][0]["content"][0]["text"]
                if text != "%d of %s" % (i, name):
                    problems.append("%s: round %d gave %r" % (name, i, text))

        threads = [threading.Thread(target=talk, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        t.check("two conversations at once, each in its order", problems)
        seen = json.loads(m.call("GET", "/_scenario/requests")[2])
        per = {n: [r["round"] for r in seen["requests"] if r["session"] == n] for n in ("one", "two")}
        t.ok(seen["total"] == 2 * count and per == {n: list(range(count)) for n in per}, "all of it was recorded", per)
        first = seen["requests"][0]
        t.ok(first["body"]["stream"] is True and first["path"] == "/v1/responses"
             and "x-scenario-session" in [h[0].lower() for h in first["headers"]], "with header and body", first)
        m.call("POST", "/_scenario/reset")
        t.ok(json.loads(m.call("GET", "/_scenario/requests")[2])["requests"] == [], "reset forgets them")
        t.ok(b"0 of again" in m.ask(text="again", session="one", stream=False)[2], "and begins anew")
        for _ in range(300):
            m.ask(session="many", stream=False)
        seen = json.loads(m.call("GET", "/_scenario/requests")[2])
        t.ok(len(seen["requests"]) == 256 and seen["dropped"] == 45, "the record is bounded", seen["dropped"])
    two = {"a": {"rounds": [{"text": "from a"}]}, "b": {"rounds": [{"text": "from b"}], "loop": True}}
    with Model({"scenarios": two}) as m:
        t.ok(b"from b" in m.ask(model="b", stream=False)[2] and b"from a" in m.ask(model="a", stream=False)[2],
             "the model names the scenario")
        t.ok(m.ask(model="c")[0] == 404 and m.ask(model="a")[0] == 500 and m.ask(model="b")[0] == 200,
             "unknown, exhausted, looping")


def bundled():
    quote(SALES, "Add up the sales.", "north: 2700\n")
    quote(FIBONACCI, "What is the 50th Fibonacci number? Use the python tool.", "12586269025\n")


def quote(path, words, result):
    with Model(path) as m:
        for turn in range(2):
            question = {"role": "user", "content": words}
            call = json.loads(m.ask(items=[question], stream=False)[2])["output"][-1]
            code = json.loads(call["arguments"])["code"] if call["type"] == "function_call" else ""
            done = subprocess.run([sys.executable, "-I", "-c", code], stdout=subprocess.PIPE, check=False, timeout=PATIENCE)
            printed = done.stdout.decode()
            output = json.dumps({"status": "completed", "stdout": printed, "stderr": ""})
            items = [question, call, {"type": "function_call_output", "call_id": call["call_id"], "output": output}]
            _, _, data = m.ask(items=items)
            events, _ = events_of(data)
            text = events[-1]["response"]["output"][0]["content"][0]["text"]
            t.ok(call.get("name") == "code_interpreter" and result in printed and text.endswith(printed)
                 and not broken(events), "%s, turn %d: call, run, quote" % (os.path.basename(path), turn), printed, text)


def command():
    with tempfile.TemporaryDirectory(prefix="mf-model-") as folder:
        bad, port_file = os.path.join(folder, "bad.json"), os.path.join(folder, "port")
        with open(bad, "w", encoding="utf-8") as f:
            f.write('{"rounds":[{"text":"a","fault":"explode"}]}')
        for words, status, part in [([bad], 1, "rounds[0].fault: unknown fault 'explode'"), ([], 2, "name a scenario"),
                                    ([os.path.join(folder, "none")], 1, "No such file"), ([SALES, SALES], 2, "one scenario"),
                                    ([SALES, "--port", "x"], 2, "--port")]:
            done = subprocess.run([places.mayfly(), "model", *words], capture_output=True, timeout=PATIENCE, check=False)
            err = done.stderr.decode()
            t.ok(done.returncode == status and part in err and err.count("\n") == 1, "refused: " + part, done)
        with Model(SALES, "--port-file", port_file) as m:
            with open(port_file, encoding="utf-8") as f:
                t.ok(int(f.read()) == m.port, "--port-file has the port")
            done = subprocess.run([places.mayfly(), "model", SALES, "--port", str(m.port)], capture_output=True,
                                  timeout=PATIENCE, check=False)
            t.ok(done.returncode == 1 and b"mayfly: model: " in done.stderr, "a port that is taken", done)
        t.ok(sorted(os.listdir(folder)) == ["bad.json", "port"], "nothing else is left", os.listdir(folder))


def main():
    places.need("mayfly")
    for suite in (replies, given, paths, splits, faults, sessions, bundled, command):
        suite()
    return t.done()


sys.exit(main())
