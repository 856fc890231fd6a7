"""The task API over asyncio, one connection a call."""
from __future__ import annotations

import asyncio
import ssl
from typing import Any, AsyncIterator, Awaitable, Optional, TypeVar, Union

from . import _core
from .errors import ConnectionFailed
from .models import Artifact, Event, Task, TaskPage, TaskRequest

T = TypeVar("T")
RECEIVE_STEP = 64 * 1024


async def _within(timeout: float, awaitable: Awaitable[T]) -> T:
    """asyncio.wait_for, which loses a cancellation that comes together with the result (before Python 3.12)."""
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({task}, timeout=timeout)
        if task.done():
            return task.result()
        raise asyncio.TimeoutError
    finally:
        task.cancel()


class _Link:
    """The connection of one call. It is always being read, so that an early answer is noticed."""

    def __init__(self, address: _core.Address, tls: Optional[ssl.SSLContext]) -> None:
        self.address = address
        self.tls = tls
        self.reader: Optional[asyncio.StreamReader] = None
        self.writer: Optional[asyncio.StreamWriter] = None
        self.reading: Optional["asyncio.Task[bytes]"] = None

    async def perform(self, command: Any) -> Any:
        try:
            return await self._perform(command)
        except (asyncio.TimeoutError, TimeoutError):
            raise ConnectionFailed("the server is silent") from None
        except OSError as e:
            if isinstance(command, _core.ReadFile):
                raise
            raise ConnectionFailed("no connection to the server: %s" % (e.strerror or e)) from e

    async def _perform(self, command: Any) -> Any:
        if isinstance(command, _core.Open):
            return await self.open(command.timeout)
        if isinstance(command, _core.Send):
            return await self.send(command.data, command.timeout)
        if isinstance(command, _core.Receive):
            return await self.receive(command.timeout)
        if isinstance(command, _core.ReadFile):
            return await asyncio.get_running_loop().run_in_executor(None, command.file.read, command.size)
        self.close()
        return await asyncio.sleep(command.seconds)

    async def open(self, timeout: float) -> None:
        self.close()
        a = self.address
        connecting: Awaitable[Any] = (asyncio.open_unix_connection(a.unix_path) if a.unix_path is not None else
                                      asyncio.open_connection(a.host, a.port, ssl=self.tls))
        opening = asyncio.ensure_future(connecting)
        try:
            self.reader, self.writer = await _within(timeout, opening)
        except asyncio.CancelledError:
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result()[1].transport.abort()
            raise

    def _read(self) -> "asyncio.Task[bytes]":
        assert self.reader is not None
        if self.reading is None:
            self.reading = asyncio.ensure_future(self.reader.read(RECEIVE_STEP))
        return self.reading

    async def send(self, data: bytes, timeout: float) -> bool:
        assert self.writer is not None
        reading = self._read()
        try:
            self.writer.write(data)
            await _within(timeout, self.writer.drain())
            await asyncio.sleep(0)
        except ConnectionError:
            return False  # what the server said before, if anything, is there to be received
        return not reading.done()

    async def receive(self, timeout: float) -> bytes:
        reading = self._read()
        data: bytes = await _within(timeout, reading)
        self.reading = None
        return data

    def close(self) -> None:
        if self.reading is not None:
            self.reading.cancel()
        if self.writer is not None:
            self.writer.transport.abort()
        self.reading = self.reader = self.writer = None


class AsyncMayfly:
    """As `Mayfly`, for asyncio. Cancelling a call closes its connection."""

    def __init__(self, base_url: str, api_key: Optional[str] = None, *, timeout: float = 30.0, retries: int = 8,
                 ssl_context: Optional[ssl.SSLContext] = None) -> None:
        self._core = _core.Core(base_url, api_key, timeout, retries)
        self._tls = (ssl_context or ssl.create_default_context()) if self._core.address.is_tls else None

    # ---- the three calls ----

    async def submit(self, request: Union[TaskRequest, str], *, idempotency_key: Optional[str] = None) -> Task:
        """Returns once the server has promised that the task will reach an end. The same key with the same request gives the
        same task, however often it is sent."""
        return await self._call(self._core.submit(request, idempotency_key))

    async def get(self, task_id: str, *, wait: Optional[float] = None) -> Task:
        """How it stands now; with `wait` (seconds, up to 60) when it has ended, or after so long."""
        return await self._call(self._core.get(task_id, wait))

    async def cancel(self, task_id: str) -> None:
        """Also fine for one that has ended, which stays as it is."""
        await self._call(self._core.cancel(task_id))

    # ---- following ----

    async def wait(self, task_id: str) -> Task:
        """Waits for the end, however long that takes."""
        return await self._call(self._core.wait(task_id))

    async def run(self, request: Union[TaskRequest, str], *, idempotency_key: Optional[str] = None) -> Task:
        """Submits and waits. When the waiting is cancelled, so is the task."""
        return await self._call(self._core.run(request, idempotency_key))

    def events(self, task_id: str, *, after: str = "") -> AsyncIterator[Event]:
        """What happens to a task, from its beginning or behind `after` (the id of an event), up to its end. A connection that
        breaks is made anew, and nothing is given twice or left out."""
        return self._each(self._core.events(task_id, after))

    # ---- what there is ----

    async def download(self, artifact: Artifact) -> bytes:
        """The bytes, which have the size and the SHA-256 that the artifact names."""
        return await self._call(self._core.download(artifact))

    async def list(self, *, limit: Optional[int] = None, after: Optional[str] = None, status: Optional[str] = None) -> TaskPage:
        return await self._call(self._core.list(limit, after, status))

    async def delete(self, task_id: str) -> None:
        """Removes it with its files; cancels it before where it has not ended."""
        await self._call(self._core.delete(task_id))

    # ---- driving ----

    async def _call(self, steps: _core.Steps[T]) -> T:
        link = _Link(self._core.address, self._tls)
        outcome: Any = None
        error: Optional[BaseException] = None
        try:
            while True:
                command = steps.send(outcome) if error is None else steps.throw(error)
                outcome = error = None
                try:
                    outcome = await link.perform(command)
                except BaseException as e:
                    error = e
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            link.close()

    async def _each(self, steps: _core.Steps[None]) -> AsyncIterator[Any]:
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
                    outcome = await link.perform(command)
                except BaseException as e:
                    error = e
        except StopIteration:
            return
        finally:
            steps.close()
            link.close()
