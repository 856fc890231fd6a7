"""HTTP/1.1 without sockets: a request in pieces, a response out of pieces."""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Dict, List, Tuple, Union

from .errors import ConnectionFailed

HEAD_MAX = 64 * 1024
LINE_MAX = 8 * 1024


@dataclass(frozen=True)
class FilePiece:
    """So many bytes of a file, read when their turn has come."""

    path: str
    size: int


@dataclass
class Request:
    method: str
    target: str
    headers: Dict[str, str] = field(default_factory=dict)
    body: List[Union[bytes, FilePiece]] = field(default_factory=list)

    def head(self, common: Dict[str, str]) -> bytes:
        headers = {**common, **self.headers}
        if self.body or self.method == "POST":
            headers["Content-Length"] = str(sum(p.size if isinstance(p, FilePiece) else len(p) for p in self.body))
        lines = ["%s %s HTTP/1.1" % (self.method, self.target)]
        for name, value in headers.items():
            if not value.isascii() or not value.isprintable():
                raise ValueError("%s: expected printable ASCII" % name)
            lines.append("%s: %s" % (name, value))
        return "\r\n".join([*lines, "", ""]).encode("ascii")


def piece_of(path: "os.PathLike[str]") -> FilePiece:
    return FilePiece(os.fspath(path), os.stat(path).st_size)


class ResponseParser:
    """`feed` what came (b"" at the end of the connection); it gives the bytes of the body that are there. `status` is 0 until
    the head is whole. Anything malformed is ConnectionFailed."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.is_done = False
        self._input = b""
        self._left = 0  # of the body, or of the chunk
        self._state = "head"

    def feed(self, data: bytes) -> bytes:
        if not data and not self.is_done:
            if self._state != "to the end":
                raise ConnectionFailed("the connection broke in the middle of an answer" if self.status or self._input
                                       else "the server closed the connection without an answer")
            self.is_done = True
        self._input += data
        out: List[bytes] = []
        while not self.is_done and self._step(out):
            pass
        return b"".join(out)

    def _step(self, out: List[bytes]) -> bool:
        """False: more input is needed."""
        if self._state == "head":
            return self._take_head()
        if self._state == "to the end":
            out.append(self._input)
            self._input = b""
            return False
        if self._state in ("length", "chunk"):
            taken, self._input = self._input[:self._left], self._input[self._left:]
            out.append(taken)
            self._left -= len(taken)
            if self._left == 0:
                self.is_done = self._state == "length"
                self._state = "chunk end"
            return self._left == 0
        return self._take_line()

    def _take_line(self) -> bool:
        line, found, rest = self._input.partition(b"\r\n")
        if len(line) > LINE_MAX:
            raise ConnectionFailed("a malformed answer: a line is too long")
        if not found:
            return False
        self._input = rest
        if self._state == "chunk end":
            if line:
                raise ConnectionFailed("a malformed answer: a chunk is longer than it said")
            self._state = "chunk size"
        elif self._state == "chunk size":
            size = line.split(b";")[0].strip()
            if not size or size.strip(b"0123456789abcdefABCDEF") or len(size) > 15:
                raise ConnectionFailed("a malformed answer: the size of a chunk")
            self._left = int(size, 16)
            self._state = "chunk" if self._left else "trailers"
        else:
            self.is_done = not line
        return True

    def _take_head(self) -> bool:
        head, found, rest = self._input.partition(b"\r\n\r\n")
        if len(head) > HEAD_MAX:
            raise ConnectionFailed("a malformed answer: its head is too long")
        if not found:
            return False
        self._input = rest
        status, headers = _parse_head(head)
        if 100 <= status < 200:
            return True
        self.status, self.headers = status, headers
        if "chunked" in headers.get("transfer-encoding", "").lower():
            self._state = "chunk size"
        elif "content-length" in headers:
            length = headers["content-length"]
            if not (length.isascii() and length.isdigit()):
                raise ConnectionFailed("a malformed answer: Content-Length")
            self._state, self._left = "length", int(length)
            self.is_done = self._left == 0
        else:
            self._state = "to the end"
        self.is_done |= status in (204, 304)
        return True


def _parse_head(head: bytes) -> Tuple[int, Dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest.split(" ")[0]
    if not version.startswith("HTTP/1.") or len(status) != 3 or not (status.isascii() and status.isdigit()):
        raise ConnectionFailed("a malformed answer: is this an HTTP server?")
    headers: Dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise ConnectionFailed("a malformed answer: a line of its head")
        headers.setdefault(name.strip().lower(), value.strip())
    return int(status), headers
