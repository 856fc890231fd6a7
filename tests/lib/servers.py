"""The programs under test: `mayfly serve` and `mayfly model` on free ports, each with its own home, ended at the end."""
import json
import http.client
import os
import signal
import subprocess
import tempfile
import time

import places

PATIENCE = 30  # seconds until a thing that must happen counts as not happening


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


class _Server:
    """A child process that says on which port it listens."""

    def __init__(self, words, env=None):
        self.process = subprocess.Popen([places.mayfly(), *words], stdout=subprocess.DEVNULL, stderr=self.log, env=env)
        self.port = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def _wait_port(self, path):
        """The port file is written when the server listens."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with open(path, encoding="ascii") as f:
                    text = f.read()
                if text.endswith("\n") or (text and text.isdigit()):
                    return int(text)
            except FileNotFoundError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise SystemExit("the server did not start: %s" % self.words_of_log())

    def words_of_log(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-2000:]

    def is_alive(self):
        return self.process.poll() is None

    def call(self, method, path, body=None, headers=(), patience=PATIENCE):
        """body: bytes, or a value that is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = dict(headers)
        if data is not None and not isinstance(body, bytes):
            sent.setdefault("content-type", "application/json")
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        try:
            try:
                c.request(method, path, data, sent)
            except (BrokenPipeError, ConnectionResetError):
                pass  # a body that is too large: the answer comes before all of it was sent
            r = c.getresponse()
            return Reply(r.status, r.headers, r.read())
        finally:
            c.close()

    def stop(self):
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()
        return self.process.returncode


class Model(_Server):
    def __init__(self, scenario):
        self.folder = tempfile.TemporaryDirectory(prefix="mf-model-")
        self.log = tempfile.TemporaryFile()
        path, port = (os.path.join(self.folder.name, n) for n in ("scenario.json", "port"))
        with open(path, "w", encoding="utf-8") as f:
            json.dump(scenario, f)
        super().__init__(["model", path, "--port-file", port])
        self.port = self._wait_port(port)

    def requests(self):
        return self.call("GET", "/_scenario/requests").json()["requests"]

    def reset(self):
        self.call("POST", "/_scenario/reset")


class Gateway(_Server):
    """`mayfly serve` in front of llm_api_base. env: more environment; config: the text of config.toml."""

    def __init__(self, llm_api_base, env=None, config="", words=()):
        self.folder = tempfile.TemporaryDirectory(prefix="mf-home-")
        self.log = tempfile.TemporaryFile()
        if config:
            with open(os.path.join(self.folder.name, "config.toml"), "w", encoding="utf-8") as f:
                f.write(config)
        port = os.path.join(self.folder.name, "port")
        known = {k: v for k, v in os.environ.items() if not k.startswith(("AGENTIC_", "OPENAI_", "OIDC_", "LLM_"))}
        known.update({"AGENTIC_API_HOME": self.folder.name}, **(env or {}))
        super().__init__(["serve", "--llm-api-base", llm_api_base, "--gateway-host", "127.0.0.1", "--gateway-port", "0",
                          "--skip-llm-ready-check", "--port-file", port, *words], known)
        self.port = self._wait_port(port)
