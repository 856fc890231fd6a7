"""The servers that bench/gateway measures: the scripted model, and both gateways in front of it, each with a home and a
database of its own, without an interpreter."""
import json
import os
import socket
import subprocess
import time

from .gateway import SCENARIO
from .worker import WorkerError

READY_S = 60


class Server:
    def start(self, argv, folder, name, env=None):
        self.home = os.path.join(folder, name)
        os.mkdir(self.home)
        env = dict({"PATH": "/usr/bin:/bin", "HOME": self.home, "AGENTIC_API_HOME": self.home}, **(env or {}))
        if not os.access(argv[0], os.X_OK):
            raise WorkerError(f"{os.path.basename(argv[0])} is not there (make build; bench/setup)")
        with open(os.path.join(self.home, "log"), "wb") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, start_new_session=True)
        self.pid = self.process.pid
        until = time.monotonic() + READY_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise WorkerError(f"{name} did not start: {self._complaint()}")
            time.sleep(0.05)

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def _complaint(self):
        with open(os.path.join(self.home, "log"), encoding="utf-8", errors="replace") as f:
            return (f.read().strip().splitlines() or ["without a word"])[-1][:300]

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Model(Server):
    def __init__(self, build, folder):
        path = os.path.join(folder, "scenario.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(SCENARIO, f)
        self.port = free_port()
        self.start([os.path.join(build, "mayfly"), "model", path, "--port", str(self.port), "--quiet"], folder, "model")


class Gateway(Server):
    def __init__(self, build, folder, upstream_port):
        self.port = free_port()
        self.start([os.path.join(build, self.PROGRAM), *self.WORDS, "--llm-api-base", f"http://127.0.0.1:{upstream_port}",
                    "--gateway-host", "127.0.0.1", "--gateway-port", str(self.port), "--skip-llm-ready-check"],
                   folder, os.path.basename(self.PROGRAM))


class Mayfly(Gateway):
    PROGRAM, WORDS = "mayfly", ["serve"]


class Agentic(Gateway):
    PROGRAM, WORDS = os.path.join("bench-agentic", "bin", "agentic-server"), []
