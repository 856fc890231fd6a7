"""Talks to tests/driver/mf-driver: one provider kept alive, JSON lines both ways, many runs at once."""
import base64
import json
import os
import subprocess
import threading
import time

import places


NOBODY = 65534


class DriverGone(Exception):
    """The driver ended or did not answer in time."""


class NotReady(Exception):
    """The provider refused to start; says why and what to do."""

    def __init__(self, code, message):
        super().__init__("%s: %s" % (code, message))
        self.code = code
        self.message = message


class StartError(Exception):
    """A run was refused before it began."""

    def __init__(self, code, message):
        super().__init__("%s: %s" % (code, message))
        self.code = code
        self.message = message


class Reply:
    """What came for one id: a result, an error or an info; and everything that was streamed before it."""

    def __init__(self, on_event=None):
        self.event = threading.Event()
        self.line = None
        self.chunks = []
        self.on_event = on_event

    def wait(self, timeout):
        if not self.event.wait(timeout):
            raise DriverGone("no answer within %s s" % timeout)
        if self.line is None:
            raise DriverGone("the driver ended before it answered")
        return self.line


class Driver:
    """`options` as on mf-driver's command line; runtime and zygote are filled in. The option "--as-nobody" is ours: it
    starts the driver as an ordinary user."""

    def __init__(self, options=(), env=None, pass_fds=(), ready_timeout=120, program=None):
        options = list(options)
        identity = {}
        if "--as-nobody" in options:
            options.remove("--as-nobody")
            identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        argv = [program or places.driver(), "--runtime", places.runtime() or "", "--zygote", places.zygote()]
        if provider_of(options) == "wasm" and places.wasm_runtime():
            argv += ["--wasm-runtime", places.wasm_runtime()]
        argv += options
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env,
                                        pass_fds=pass_fds, cwd="/", **identity)
        self.pid = self.process.pid
        self.lock = threading.Lock()
        self.replies = {}
        self.next_id = 0
        self.ready = Reply()
        self.info_at_start = None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        try:
            line = self.ready.wait(ready_timeout)
        except DriverGone:
            self.kill()
            raise
        if not line["ready"]:
            self.process.stdin.close()
            self.process.wait(60)
            raise NotReady(line.get("code"), line.get("message", ""))
        self.caps = line["caps"]

    def _read(self):
        for raw in self.process.stdout:
            line = json.loads(raw)
            if "ready" in line:
                self.ready.line = line
                self.ready.event.set()
                continue
            with self.lock:
                reply = self.replies.get(line.get("id"))
                final = "result" in line or "error" in line or "info" in line
                if reply is not None and final:
                    del self.replies[line["id"]]
            if reply is None:
                continue
            if final:
                reply.line = line
                reply.event.set()
            else:
                reply.chunks.append(line)
                if reply.on_event:
                    reply.on_event(line)
        with self.lock:
            left = list(self.replies.values()) + [self.ready]
            self.replies = {}
        for reply in left:
            reply.event.set()

    def _send(self, message, on_event=None):
        reply = Reply(on_event)
        with self.lock:
            self.next_id += 1
            message["id"] = "t%d" % self.next_id
            self.replies[message["id"]] = reply
            data = json.dumps(message).encode() + b"\n"
            try:
                self.process.stdin.write(data)
                self.process.stdin.flush()
            except (BrokenPipeError, ValueError, OSError):
                raise DriverGone("the driver has ended") from None
        reply.id = message["id"]
        if self.process.poll() is not None and not reply.event.is_set() and not self.reader.is_alive():
            reply.event.set()
        return reply

    def submit(self, source, files=None, on_event=None, **request):
        """Starts a run and returns at once; files is {name: bytes or str}. See mf-driver.c for the keys."""
        message = dict(request, source=source)
        if files:
            message["files"] = [
                {"name": name, "text": data} if isinstance(data, str)
                else {"name": name, "base64": base64.b64encode(data).decode()}
                for name, data in files.items()
            ]
        return self._send(message, on_event)

    def finish(self, reply, timeout=180):
        line = reply.wait(timeout)
        if "error" in line:
            raise StartError(line["error"]["code"], line["error"]["message"])
        result = line["result"]
        for key in ("stream", "rawStatus", "diagnostic", "started"):
            result[key] = line[key]
        if "contents" in line:
            result["contents"] = {name: None if text is None else base64.b64decode(text)
                                  for name, text in line["contents"].items()}
        return result

    def run(self, source, timeout=180, **request):
        return self.finish(self.submit(source, **request), timeout)

    def run_when_free(self, source, patience_s=60, **request):
        """As run(), but waits for a place: one is free only when every process of an earlier run is gone, which can be
        later than its result."""
        end = time.monotonic() + patience_s
        while True:
            try:
                return self.run(source, **request)
            except StartError as e:
                if e.code != "capacity" or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def cancel(self, reply):
        with self.lock:
            self.process.stdin.write(json.dumps({"cancel": reply.id}).encode() + b"\n")
            self.process.stdin.flush()

    def info(self, timeout=30):
        return self._send({"info": True}).wait(timeout)["info"]

    def close(self, timeout=60):
        """Asks for an orderly end; returns the exit status."""
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise DriverGone("the driver did not end within %s s" % timeout) from None
        self.reader.join(10)
        return status

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if exc[0] is None:
            self.close()
        else:
            self.kill()


# The names of the capability bits of sandbox.h.
CAPS = {"files": 1, "processes": 2, "threads": 4, "numpy": 8, "pandas": 16, "plot": 32, "fuel": 64, "signals": 128,
        "denied": 256, "memory": 512, "cpu": 1024}
# What a kind of provider can do where the machine and the runtime have everything (docs/providers.md).
KIND_CAPS = {"local": set(CAPS) - {"fuel"}, "wasm": {"files", "fuel", "memory"}}


def provider_of(options):
    """The provider that these options of mf-driver or of the command name."""
    options = list(options)
    return options[options.index("--provider") + 1] if "--provider" in options else "local"


def option_env(**changes):
    """The environment for a driver: ours, changed; None removes a variable."""
    env = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env
