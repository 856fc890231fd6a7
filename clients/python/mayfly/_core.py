"""Every call of the API, without sockets: generators that say what to do next and are sent what came of it.

A call yields commands (Open, Send, Receive, Sleep) and returns its result; a stream also yields Item. Whoever drives it, with
threads or with asyncio, performs each command, sends its outcome back or throws its error, and ends the connection when the
generator is over. One connection at a time: Open ends the one before."""
from __future__ import annotations

import copy
import hashlib
import json
import os
import secrets
from dataclasses import dataclass, replace
from typing import Any, Dict, Generator, List, Optional, Tuple, TypeVar, Union
from urllib.parse import quote, urlencode, urlsplit

from ._http import FilePiece, Request, ResponseParser, piece_of
from ._sse import SseParser
from .errors import BadAnswer, ConnectionFailed, MayflyError, error_of
from .models import (Artifact, InputFile, StatusEvent, Task, TaskPage, TaskRequest, event_of, page_of, task_of)

SEND_STEP = 64 * 1024
LONG_POLL_S = 60
SILENCE_S = 45.0  # of a stream of events; the server sends a comment every 15 s
CANCEL_S = 5.0
BACK_OFF_S, BACK_OFF_MAX_S, RETRY_AFTER_MAX_S = 0.25, 5.0, 60.0

T = TypeVar("T")


# ---- commands ----

@dataclass(frozen=True)
class Open:
    timeout: float


@dataclass(frozen=True)
class Send:
    """Sent back: whether to go on. Not when the server has answered already, or listens no more."""

    data: bytes
    timeout: float


@dataclass(frozen=True)
class Receive:
    """Sent back: bytes, b"" at the end of the connection."""

    timeout: float


@dataclass(frozen=True)
class ReadFile:
    """Sent back: that many bytes of the file, fewer at its end."""

    file: Any
    size: int


@dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclass(frozen=True)
class Item:
    value: Any


Command = Union[Open, Send, Receive, ReadFile, Sleep, Item]
Steps = Generator[Command, Any, T]


# ---- the server ----

@dataclass(frozen=True)
class Address:
    """`unix_path` takes the place of host and port."""

    host: str
    port: int
    is_tls: bool
    unix_path: Optional[str]
    prefix: str
    authority: str


def address_of(base_url: str) -> Address:
    """`http://host:port`, `https://…`, with or without `/v1`, or `unix:///path/of/the/socket`."""
    url = urlsplit(base_url)
    if url.query or url.fragment or url.username or url.password:
        raise ValueError("base_url: expected an address without a query and without credentials")
    if url.scheme == "unix" and not url.netloc and url.path.startswith("/"):
        return Address("", 0, False, url.path, "", "localhost")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("base_url: expected http://HOST[:PORT], https://HOST[:PORT] or unix:///PATH")
    prefix = url.path.rstrip("/")
    prefix = prefix[:-3] if prefix.endswith("/v1") else prefix
    is_tls = url.scheme == "https"
    return Address(url.hostname, url.port or (443 if is_tls else 80), is_tls, None, prefix, url.netloc)


def _path_of(task_id: str, rest: str = "") -> str:
    """An id is one segment of a path, whatever it holds."""
    if not isinstance(task_id, str) or task_id in ("", ".", ".."):
        raise ValueError("task_id: expected an id")
    return "/v1/tasks/%s%s" % (quote(task_id, safe=""), rest)


# ---- bodies ----

def _file_piece(file: InputFile) -> Union[bytes, FilePiece]:
    if isinstance(file.content, str):
        return file.content.encode("utf-8")
    return piece_of(file.content) if isinstance(file.content, os.PathLike) else bytes(file.content)


def _body_of(request: TaskRequest) -> Tuple[str, List[Union[bytes, FilePiece]]]:
    wire = json.dumps(request.to_wire()).encode("ascii")
    if not request.files:
        return "application/json", [wire]
    mark = "mayfly-" + secrets.token_hex(16)
    head = "--%s\r\nContent-Disposition: form-data; %%s\r\n\r\n" % mark
    body: List[Union[bytes, FilePiece]] = [(head % 'name="request"\r\nContent-Type: application/json').encode(), wire, b"\r\n"]
    for file in request.files:
        # RFC 8187: nothing that is left can end a quoted string or a line.
        name = quote(file.name, safe="")
        body += [(head % ("name=\"files\"; filename*=UTF-8''%s\r\nContent-Type: application/octet-stream" % name)).encode(),
                 _file_piece(file), b"\r\n"]
    return "multipart/form-data; boundary=" + mark, [*body, ("--%s--\r\n" % mark).encode()]


# ---- trying again ----

class _Patience:
    def __init__(self, retries: int) -> None:
        self.retries = retries
        self.failures = 0

    def after(self, error: MayflyError) -> Steps[None]:
        """Returns when it is time to try again. Raises what cannot be helped so, or was tried often enough."""
        if not error.is_transient or self.failures >= self.retries:
            raise error
        own = min(BACK_OFF_S * 2 ** self.failures, BACK_OFF_MAX_S)
        self.failures += 1
        yield Sleep(max(own, min(error.retry_after or 0.0, RETRY_AFTER_MAX_S)))


# ---- the calls ----

class Core:
    """`timeout`: seconds for connecting, and of silence where an answer is due. `retries`: how often in a row wait, run, events
    and download try again without getting further."""

    def __init__(self, base_url: str, api_key: Optional[str], timeout: float, retries: int) -> None:
        self.address = address_of(base_url)
        self.timeout = timeout
        self.retries = retries
        self._common = {"Host": self.address.authority, "User-Agent": "mayfly-python", "Accept": "application/json",
                        "Connection": "close"}
        if api_key is not None:
            self._common["Authorization"] = "Bearer " + api_key

    def _hasty(self) -> "Core":
        """The same server, with less time."""
        other = copy.copy(self)
        other.timeout = CANCEL_S
        return other

    # ---- HTTP ----

    def _send(self, head: bytes, request: Request, timeout: float) -> Steps[None]:
        if not (yield Send(head, timeout)):
            return
        for piece in request.body:
            if isinstance(piece, FilePiece):
                with open(piece.path, "rb") as file:
                    if not (yield from self._send_file(file, piece.size, timeout)):
                        return
                continue
            for at in range(0, len(piece), SEND_STEP):
                if not (yield Send(piece[at:at + SEND_STEP], timeout)):
                    return

    @staticmethod
    def _send_file(file: Any, left: int, timeout: float) -> Steps[bool]:
        while left > 0:
            data = yield ReadFile(file, min(SEND_STEP, left))
            if not data:
                raise ValueError("files: a file became shorter while it was sent")
            left -= len(data)
            if not (yield Send(data, timeout)):
                return False
        return True

    def _start(self, request: Request, timeout: float) -> Steps[Tuple[ResponseParser, bytes]]:
        """The head of an answer of success, and what came of its body along with it."""
        request = replace(request, target=self.address.prefix + request.target)
        head = request.head(self._common)
        yield Open(self.timeout)
        yield from self._send(head, request, self.timeout)
        parser, body = ResponseParser(), b""
        while not parser.status:
            body += parser.feed((yield Receive(timeout)))
        if not 200 <= parser.status < 300:
            raise error_of(parser.status, parser.headers, (yield from self._rest(parser, body)))
        return parser, body

    def _rest(self, parser: ResponseParser, body: bytes) -> Steps[bytes]:
        pieces = [body]
        while not parser.is_done:
            pieces.append(parser.feed((yield Receive(self.timeout))))
        return b"".join(pieces)

    def _bytes(self, request: Request, timeout: Optional[float] = None) -> Steps[bytes]:
        parser, body = yield from self._start(request, self.timeout if timeout is None else timeout)
        return (yield from self._rest(parser, body))

    def _json(self, request: Request, timeout: Optional[float] = None) -> Steps[Any]:
        return _parse((yield from self._bytes(request, timeout)))

    def _patiently(self, patience: _Patience, attempt: Any) -> Steps[Any]:
        while True:
            try:
                return (yield from attempt())
            except MayflyError as e:
                error = e
            yield from patience.after(error)

    # ---- the three ----

    def submit(self, request: Union[TaskRequest, str], idempotency_key: Optional[str]) -> Steps[Task]:
        kind, body = _body_of(TaskRequest(request) if isinstance(request, str) else request)
        headers = {"Content-Type": kind}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return task_of((yield from self._json(Request("POST", "/v1/tasks", headers, body))))

    def get(self, task_id: str, wait: Optional[float]) -> Steps[Task]:
        query = "" if wait is None else "?wait=%.3f" % wait
        return task_of((yield from self._json(Request("GET", _path_of(task_id, query)), self.timeout + (wait or 0))))

    def cancel(self, task_id: str) -> Steps[None]:
        yield from self._json(Request("POST", _path_of(task_id, "/cancel")))

    # ---- following ----

    def wait(self, task_id: str) -> Steps[Task]:
        patience = _Patience(self.retries)
        while True:
            task: Task = yield from self._patiently(patience, lambda: self.get(task_id, LONG_POLL_S))
            if task.has_ended:
                return task
            patience.failures = 0

    def run(self, request: Union[TaskRequest, str], idempotency_key: Optional[str]) -> Steps[Task]:
        task = yield from self.submit(request, idempotency_key)
        try:
            return (yield from self.wait(task.task_id))
        except MayflyError:
            raise
        except BaseException:  # the caller was interrupted or cancelled
            yield from self._cancel_quickly(task.task_id)
            raise

    def _cancel_quickly(self, task_id: str) -> Steps[None]:
        try:
            yield from self._hasty().cancel(task_id)
        except MayflyError:
            pass  # it ends by its own time limit

    def events(self, task_id: str, after: str) -> Steps[None]:
        patience = _Patience(self.retries)
        while True:
            error: MayflyError = ConnectionFailed("the stream of events was cut")
            try:
                parser, data = yield from self._open_events(task_id, after)
                if parser.status == 204:  # the caller has seen the end
                    return
                sse = SseParser()
                while True:
                    for raw in sse.feed(data):
                        patience.failures = 0
                        event = event_of(raw.id, raw.event, _parse(raw.data.encode()))
                        after = raw.id or after
                        if event is not None:
                            yield Item(event)
                        if isinstance(event, StatusEvent) and event.has_ended:
                            return
                    if parser.is_done:
                        break
                    data = parser.feed((yield Receive(SILENCE_S)))
            except MayflyError as e:
                error = e
            yield from patience.after(error)

    def _open_events(self, task_id: str, after: str) -> Steps[Tuple[ResponseParser, bytes]]:
        headers = {"Accept": "text/event-stream"}
        if after:
            headers["Last-Event-ID"] = after
        parser, data = yield from self._start(Request("GET", _path_of(task_id, "/events"), headers), SILENCE_S)
        if parser.status != 204 and not parser.headers.get("content-type", "").startswith("text/event-stream"):
            raise BadAnswer("the answer is not a stream of events", parser.status)
        return parser, data

    # ---- what there is ----

    def download(self, artifact: Artifact) -> Steps[bytes]:
        url = artifact.url
        if not url.startswith("/") or url[1:2] in ("/", "\\") or not (url.isascii() and url.isprintable()) or " " in url:
            raise ValueError("artifact.url: expected a path on the server")
        headers = {"Accept": "*/*"}
        get = Request("GET", url, headers)
        data: bytes = yield from self._patiently(_Patience(self.retries), lambda: self._bytes(get))
        if len(data) != artifact.size_bytes or hashlib.sha256(data).hexdigest() != artifact.sha256:
            raise BadAnswer("what came is not the artifact that was asked for")
        return data

    def list(self, limit: Optional[int], after: Optional[str], status: Optional[str]) -> Steps[TaskPage]:
        query = {k: v for k, v in (("limit", limit), ("after", after), ("status", status)) if v is not None}
        return page_of((yield from self._json(Request("GET", "/v1/tasks?" + urlencode(query)))))

    def delete(self, task_id: str) -> Steps[None]:
        yield from self._json(Request("DELETE", _path_of(task_id)))


def _parse(data: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadAnswer("the answer is not a JSON object: is this a Mayfly server?")
    return value
