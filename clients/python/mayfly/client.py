"""The task API over plain sockets, one connection a call."""
from __future__ import annotations

import socket
import ssl
import time
from typing import Any, Generator, Iterator, Optional, TypeVar, Union

from . import _core
from .errors import ConnectionFailed
from .models import Artifact, Event, Task, TaskPage, TaskRequest

T = TypeVar("T")
RECEIVE_STEP = 64 * 1024


class _Link:
    """The connection of one call."""

    def __init__(self, address: _core.Address, tls: Optional[ssl.SSLContext]) -> None:
        self.address = address
        self.tls = tls
        self.socket: Optional[socket.socket] = None
        self.early = b""  # of the answer, while the request was still being sent

    def perform(self, command: Any) -> Any:
        try:
            return self._perform(command)
        except socket.timeout:
            raise ConnectionFailed("the server is silent") from None
        except OSError as e:
            if isinstance(command, _core.ReadFile):
                raise
            raise ConnectionFailed("no connection to the server: %s" % (e.strerror or e)) from e

    def _perform(self, command: Any) -> Any:
        if isinstance(command, _core.Open):
            return self.open(command.timeout)
        if isinstance(command, _core.Send):
            return self.send(command.data, command.timeout)
        if isinstance(command, _core.Receive):
            return self.receive(command.timeout)
        if isinstance(command, _core.ReadFile):
            return command.file.read(command.size)
        self.close()
        return time.sleep(command.seconds)

    def open(self, timeout: float) -> None:
        self.close()
        a = self.address
        if a.unix_path is not None:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(a.unix_path)
            return
        self.socket = socket.create_connection((a.host, a.port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls is not None:
            self.socket = self.tls.wrap_socket(self.socket, server_hostname=a.host)

    def send(self, data: bytes, timeout: float) -> bool:
        assert self.socket is not None
        self.socket.settimeout(timeout)
        try:
            self.socket.sendall(data)
            self.socket.setblocking(False)
            self.early = self.socket.recv(RECEIVE_STEP)
            return False
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return True
        except (ConnectionError, ssl.SSLError):
            return False  # what the server said before, if anything, is there to be received

    def receive(self, timeout: float) -> bytes:
        assert self.socket is not None
        if self.early:
            data, self.early = self.early, b""
            return data
        self.socket.settimeout(timeout)
        return self.socket.recv(RECEIVE_STEP)

    def close(self) -> None:
        self.early = b""
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Mayfly:
    """`base_url`: `http://127.0.0.1:9000`, `https://…` or `unix:///home/me/.agentic-api/mayfly.sock`. `timeout`: seconds for
    connecting, and of silence where an answer is due. `retries`: how often in a row wait, run, events and download try again
    without getting further. May be used by many threads at once; every call raises MayflyError."""

    def __init__(self, base_url: str, api_key: Optional[str] = None, *, timeout: float = 30.0, retries: int = 8,
                 ssl_context: Optional[ssl.SSLContext] = None) -> None:
        self._core = _core.Core(base_url, api_key, timeout, retries)
        self._tls = (ssl_context or ssl.create_default_context()) if self._core.address.is_tls else None

    # ---- the three calls ----

    def submit(self, request: Union[TaskRequest, str], *, idempotency_key: Optional[str] = None) -> Task:
        """Returns once the server has promised that the task will reach an end. The same key with the same request gives the
        same task, however often it is sent."""
        return self._call(self._core.submit(request, idempotency_key))

    def get(self, task_id: str, *, wait: Optional[float] = None) -> Task:
        """How it stands now; with `wait` (seconds, up to 60) when it has ended, or after so long."""
        return self._call(self._core.get(task_id, wait))

    def cancel(self, task_id: str) -> None:
        """Also fine for one that has ended, which stays as it is."""
        self._call(self._core.cancel(task_id))

    # ---- following ----

    def wait(self, task_id: str) -> Task:
        """Waits for the end, however long that takes."""
        return self._call(self._core.wait(task_id))

    def run(self, request: Union[TaskRequest, str], *, idempotency_key: Optional[str] = None) -> Task:
        """Submits and waits. A KeyboardInterrupt meanwhile cancels the task."""
        return self._call(self._core.run(request, idempotency_key))

    def events(self, task_id: str, *, after: str = "") -> Iterator[Event]:
        """What happens to a task, from its beginning or behind `after` (the id of an event), up to its end. A connection that
        breaks is made anew, and nothing is given twice or left out."""
        return self._each(self._core.events(task_id, after))

    # ---- what there is ----

    def download(self, artifact: Artifact) -> bytes:
        """The bytes, which have the size and the SHA-256 that the artifact names."""
        return self._call(self._core.download(artifact))

    def list(self, *, limit: Optional[int] = None, after: Optional[str] = None, status: Optional[str] = None) -> TaskPage:
        return self._call(self._core.list(limit, after, status))

    def delete(self, task_id: str) -> None:
        """Removes it with its files; cancels it before where it has not ended."""
        self._call(self._core.delete(task_id))

    # ---- driving ----

    def _call(self, steps: _core.Steps[T]) -> T:
        try:
            next(self._each(steps))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("a call gives no items")

    def _each(self, steps: _core.Steps[T]) -> Generator[Any, None, T]:
        link = _Link(self._core.address, self._tls)
        outcome: Any = None
        error: Optional[BaseException] = None
        try:
            while True:
                command = steps.send(outcome) if error is None else steps.throw(error)
                outcome = error = None
                if isinstance(command, _core.Item):
                    yield command.value
                    continue
                try:
                    outcome = link.perform(command)
                except BaseException as e:
                    error = e
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()
            link.close()
