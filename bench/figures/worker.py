"""A program that measures on command: one line in, one JSON object out. Both C programs and the Python peers speak it."""
import json
import os
import select
import subprocess
import time


class WorkerError(Exception):
    """What was asked for did not work; the message says why."""


class WorkerGone(WorkerError):
    """The program has ended or hangs: it can be asked nothing more."""


class Worker:
    READY_S = 120
    ANSWER_S = 180

    def __init__(self, argv, env):
        # A process group of its own: an interrupt from the keyboard ends this program first, which ends its workers.
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                                        start_new_session=True)
        os.set_blocking(self.process.stdout.fileno(), False)
        os.set_blocking(self.process.stderr.fileno(), False)
        self.pending = b""

    def wait_ready(self):
        answer = self._answer(self.READY_S)
        if not answer.get("ready"):
            raise WorkerError(answer.get("error", "it did not become ready"))

    def ask(self, command):
        try:
            self.process.stdin.write(command.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as e:
            raise WorkerGone(f"it has ended: {self._complaint() or e}") from e
        answer = self._answer(self.ANSWER_S)
        if "error" in answer:
            raise WorkerError(answer["error"].strip())
        return answer

    def _answer(self, seconds):
        until = time.monotonic() + seconds
        while b"\n" not in self.pending:
            left = until - time.monotonic()
            if left <= 0:
                raise WorkerGone(f"no answer within {seconds} s")
            if not select.select([self.process.stdout], [], [], left)[0]:
                continue
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                raise WorkerGone(f"it has ended: {self._complaint() or 'without a word'}")
            self.pending += chunk
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def _complaint(self):
        try:
            text = os.read(self.process.stderr.fileno(), 65536).decode(errors="replace").strip()
        except OSError:
            return ""
        return text.splitlines()[-1] if text else ""

    def close(self):
        """The end of its input ends it; only what hangs is killed."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
