"""A `mayfly model` and a `mayfly serve` that a test starts, asks and ends."""
import http.client
import json
import os
import signal
import socket
import threading

PATIENCE = 120
TOOL = {"type": "code_interpreter", "container": {"type": "auto"}}
# The model writes what the user said as a program and quotes what came of it.
SCENARIO = {"pick": "turn", "loop": True, "rounds": [
    {"calls": [{"name": "code_interpreter", "arguments": {"code": "{{last_user_text}}"}}]}, {"text": "{{last_tool_output}}"}]}


class Started:
    """A program that says "listening on …" as its first line; its standard error is collected."""

    def __init__(self, place, *words, env=None, **streams):
        self.process = place.start(*words, env=env, **streams)
        self.errors = b""
        self.reader = threading.Thread(target=self._read_errors, daemon=True)
        self.reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def wait_line(self):
        """The first line of standard output; "" when it ended without one."""
        self.line = self.process.stdout.readline().decode()
        if self.line.startswith("listening on http"):
            self.port = int(self.line.rsplit(":", 1)[1].split("/")[0])
        return self.line

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self):
        """The exit status."""
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def ask(self, method, path, body=None, headers=()):
        """Status and body."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            c.request(method, path, json.dumps(body) if body is not None else None,
                      {"Content-Type": "application/json", **dict(headers)})
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def run_code(self, code):
        """The interpreter's item of a response."""
        status, data = self.ask("POST", "/v1/responses", {"model": "m", "input": code, "tools": [TOOL]})
        if status != 200:
            return {"status": "HTTP %d" % status, "body": data}
        return next(i for i in json.loads(data)["output"] if i["type"] == "code_interpreter_call")


def model(place):
    started = Started(place, "model", place.file("scenario.json", json.dumps(SCENARIO)).decode())
    if not started.wait_line():
        raise SystemExit("the model did not start: %r" % started.errors)
    return started


def serve(place, base, *words, env=None, **streams):
    """`mayfly serve` on a free port, with a home of its own."""
    home = os.path.join(place.path, "home")
    own = {"AGENTIC_API_HOME": home, **(env or {})}
    base = ["--llm-api-base", base if isinstance(base, str) else "http://127.0.0.1:%d" % base.port] if base else []
    return Started(place, "serve", *base, "--gateway-port", "0", *words, env=own, **streams)


def stream(server, code):
    """A streaming request as a socket, read up to the event that says the program runs."""
    s = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    body = json.dumps({"model": "m", "input": code, "stream": True, "tools": [TOOL]}).encode()
    s.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
              % (len(body), body))
    data = b""
    while b"code_interpreter_call.interpreting" not in data:
        piece = s.recv(65536)
        if not piece:
            raise SystemExit("the stream ended early: %r" % data[-500:])
        data += piece
    return s


def rest_of(s):
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
    except ConnectionError:
        pass
    return data
