"""`mayfly model` and `mayfly serve` over it, for tests of the Responses door; clients of the standard library only."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import invariants
import leaks
import places

os.environ.update(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")  # the servers are here, whatever the machine's clients go through
PATIENCE = 60  # seconds until a thing that must happen counts as not happening
TOOL = {"type": "code_interpreter", "container": {"type": "auto"}}

# What most tests need of a model: "run" calls the interpreter with what the user said and quotes what came of it.
RUN = {"pick": "turn", "loop": True, "rounds": [
    {"calls": [{"name": "code_interpreter", "arguments": {"code": "{{last_user_text}}"}}],
     "usage": {"input_tokens": 100, "output_tokens": 20}},
    {"text": "{{last_tool_output}}", "usage": {"input_tokens": 200, "output_tokens": 30}}]}
PLAIN = {"pick": "turn", "loop": True, "rounds": [{"text": "You said: {{last_user_text}}"}]}


class Server:
    """A program that serves HTTP on a port of 127.0.0.1 and ends with SIGTERM."""

    def start(self, argv, env=None, stderr=None):
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr, env=env, stdin=subprocess.DEVNULL)
        self.pid = self.process.pid

    def stop(self):
        """The exit status, or "hangs"."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "hangs"
        finally:
            self.process.stdout.close()

    def kill(self):
        """As kill -9 does it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def connect(self, receive_bytes=None):
        s = socket.socket()
        if receive_bytes:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        s.settimeout(PATIENCE)
        s.connect(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def call(self, method, path, body=None, headers=()):
        """Status, headers (lower case), bytes. `body`: bytes as they are, anything else as JSON."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            headers = dict(headers)
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
                headers.setdefault("Content-Type", "application/json")
            c.request(method, path, body, headers)
            r = c.getresponse()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
        finally:
            c.close()

    def get(self, path):
        status, _, data = self.call("GET", path)
        return status, json.loads(data) if data else None


class Model(Server):
    """`scenarios`: {model name: scenario}; `paths`: {path: round}, for what else is asked."""

    def __init__(self, scenarios, *options, paths=None):
        self.folder = tempfile.TemporaryDirectory(prefix="mf-model-")
        path = os.path.join(self.folder.name, "scenario.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"scenarios": scenarios, "paths": paths or {}}, f)
        self.serve(path, *options)

    def serve(self, path, *options):
        self.start([places.mayfly(), "model", path, *options])
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://127.0.0.1:"):
            raise SystemExit("the model did not start: %r" % line)
        self.port = int(line.split(":")[2].split("/")[0])

    def stop(self):
        try:
            return super().stop()
        finally:
            self.folder.cleanup()

    def requests(self):
        """What was asked, oldest first."""
        return self.get("/_scenario/requests")[1]["requests"]

    def reset(self):
        self.call("POST", "/_scenario/reset")


class Gateway(Server):
    """`settings`: keys of [code_interpreter], over what the tests want; `env`: more environment; `options`: more of the
    command line. A home that is given is kept, one of our own is removed. upstream None: no LLM server, the task API
    alone."""

    def __init__(self, upstream, options=(), settings=None, env=None, home=None, interpreter=True, wait=True):
        self.own_home = None if home else tempfile.TemporaryDirectory(prefix="mf-home-")
        self.home = home or self.own_home.name
        self.log_path = os.path.join(self.home, "log")
        base = upstream if upstream is None or isinstance(upstream, str) else "http://127.0.0.1:%d" % upstream.port
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("AGENTIC_", "OPENAI_", "OIDC_", "GATEWAY_", "LLM_", "DATABASE_", "SQLITE_", "CORS_"))}
        keep.update(AGENTIC_API_HOME=self.home, MAYFLY_RUNTIME=places.runtime() or "", ENABLE_OPENAPI_DOCS="true")
        if places.wasm_runtime():
            keep.update(MAYFLY_WASM_RUNTIME=places.wasm_runtime())
        if interpreter:
            # No Python with pandas until a program wants it: loading it takes seconds, and few tests do.
            settings = dict({"enabled": "true", "pool_data": 0}, **(settings or {}))
            keep.update({"AGENTIC_CODE_INTERPRETER_" + k.upper(): str(v) for k, v in settings.items()})
        keep.update(env or {})
        argv = [places.mayfly(), "serve", *(["--llm-api-base", base] if base else []), "--gateway-host", "127.0.0.1",
                "--gateway-port", "0", "--skip-llm-ready-check", *options]
        with open(self.log_path, "ab") as log_file:
            self.start(argv, keep, log_file)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self):
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on http://127.0.0.1:"):
            self.kill()
            raise SystemExit("mayfly serve did not start (%s):\n%s" % (self.process.returncode, self.log()))
        self.port = int(line.split(":")[2].split("/")[0])

    def log(self):
        if not os.path.exists(self.log_path):
            return "(its log is gone)"
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def told(self):
        """A sentence when the log has what it must not, as far as this class knows; else None."""
        return None

    def stop_keeping_home(self):
        """The exit status, or what is wrong."""
        status = super().stop()
        return self.told() or status

    def stop(self):
        try:
            return self.stop_keeping_home()
        finally:
            if self.own_home:
                self.own_home.cleanup()

    def __exit__(self, *_):
        told = self.told()
        self.stop()
        if told:
            raise AssertionError(told)

    def url(self, path=""):
        return "http://127.0.0.1:%d/v1%s" % (self.port, path)

    def respond(self, **body):
        """POST /v1/responses: status and JSON, or events."""
        status, headers, data = self.call("POST", "/v1/responses", body)
        if "event-stream" in headers.get("content-type", ""):
            events, problems = events_of(data)
            assert not problems, problems
            return status, events
        return status, json.loads(data)

    def run_code(self, code, **more):
        """The interpreter's public item, what the model was told, and the response."""
        status, r = self.respond(model="run", input=code, tools=[TOOL], **more)
        assert status == 200, r
        item = next(i for i in r["output"] if i["type"] == "code_interpreter_call")
        text = next(i for i in r["output"] if i["type"] == "message")["content"][0]["text"]
        return item, text, r

    def metrics(self):
        """{'name{labels}': number}."""
        status, _, data = self.call("GET", "/metrics")
        assert status == 200, data
        found = {}
        for line in data.decode().splitlines():
            match = re.fullmatch(r"([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)", line)
            if match:
                found[match[1]] = float(match[2])
        return found

    def until(self, what, condition, patience=PATIENCE):
        """[] when `condition()` comes true, else a sentence; condition gives (bool, words)."""
        end = time.monotonic() + patience
        while True:
            good, words = condition()
            if good:
                return []
            if time.monotonic() > end:
                return ["%s: %s" % (what, words)]
            time.sleep(0.02)

    def rss(self):
        return leaks.resident_bytes(self.pid)


def events_of(data):
    """The events of a stream, and what is wrong with its form."""
    parsed = invariants.Stream(data.decode())
    return parsed.events, parsed.problems


def post(body, path="/v1/responses", headers=""):
    """The bytes of a request."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n"
             % (path, len(data), headers)).encode() + data)


class RawStream:
    """A request on a socket of its own, usually for a stream, whose answer is read only when told to."""

    def __init__(self, server, body, receive_bytes=None, stream=True, path="/v1/responses"):
        self.s = server.connect(receive_bytes)
        self.s.sendall(post(dict(body, stream=stream), path))
        self.data = b""
        self.ended = False

    def read_until(self, *needles):
        """True when one of the needles was seen; False when the stream ended first."""
        while not any(n in self.data for n in needles):
            if self.ended:
                return False
            try:
                piece = self.s.recv(65536)
            except (ConnectionError, socket.timeout):
                piece = b""
            self.ended = not piece
            self.data += piece
        return True

    def read_all(self):
        self.read_until(b"data: [DONE]\n\n")
        return self.body()

    def body(self):
        """What has come, without the framing of chunks."""
        head, _, rest = self.data.partition(b"\r\n\r\n")
        if b"chunked" not in head:
            return rest
        out = b""
        while b"\r\n" in rest:
            size, _, rest = rest.partition(b"\r\n")
            try:
                n = int(size, 16)
            except ValueError:
                break
            if n == 0:
                break
            out, rest = out + rest[:n], rest[n + 2:]
        return out

    def close(self, reset=False):
        if reset:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.s.close()


TERMINAL = tuple(invariants.TERMINAL)


def broken(events, problems=()):
    """What is wrong with a whole stream of the gateway: its form, and what holds of each one."""
    text = "".join("event: %s\ndata: %s\n\n" % (e.get("type"), json.dumps(e)) for e in events)
    return [*problems, *invariants.stream(text + "data: [DONE]\n\n", ["code_interpreter"])]


def crowd(n, work):
    """work(i) in n threads; the list of what they returned, exceptions among it."""
    results = [None] * n

    def one(i):
        try:
            results[i] = work(i)
        except Exception as e:  # a test's own failure is a result too
            results[i] = e

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE * 4)
    return results


def need():
    places.need("mayfly", "zygote", "runtime")
