"""Server-sent events out of bytes, however they are cut (WHATWG HTML, "Server-sent events")."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, Optional


@dataclass(frozen=True)
class RawEvent:
    id: str
    event: str
    data: str


class SseParser:
    """Gives the events that are whole. One that was cut is never given."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_first = True
        self._ends_with_cr = False
        self._id = ""
        self._event = ""
        self._data: List[str] = []

    def feed(self, chunk: bytes) -> Iterator[RawEvent]:
        if not chunk:
            return
        if self._ends_with_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # the rest of a CRLF
        self._ends_with_cr = chunk.endswith(b"\r")
        lines = (self._rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if self._is_first:
                self._is_first = False
                line = line[3:] if line.startswith(b"\xef\xbb\xbf") else line
            event = self._take(line.decode("utf-8", "replace"))
            if event:
                yield event

    def _take(self, line: str) -> Optional[RawEvent]:
        if not line:
            data, event = self._data, self._event or "message"
            self._data, self._event = [], ""
            return RawEvent(self._id, event, "\n".join(data)) if data else None
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return None
