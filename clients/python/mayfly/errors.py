"""What can go wrong. Every call raises a MayflyError, and nothing else but for arguments that make no sense."""
from __future__ import annotations

import email.utils
import json
import time
from typing import Mapping, Optional


class MayflyError(Exception):
    """`status`: of the answer, 0 when none came. `code`: in the server's words. `param`: what was wrong in the request, such
    as "limits.timeoutMs". `retry_after`: seconds after which to try again, when the server said so."""

    def __init__(self, message: str, status: int = 0, code: str = "", param: Optional[str] = None,
                 retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.param = param
        self.retry_after = retry_after

    @property
    def is_transient(self) -> bool:
        """Trying again later may help."""
        return self.status in (0, 408, 429, 502, 503, 504)


class ConnectionFailed(MayflyError):
    """No answer came, or only a part of one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 0, "connection_failed")


class BadAnswer(MayflyError):
    """What came is nothing that a Mayfly server says, or a download is not what the artifact names."""

    def __init__(self, message: str, status: int = 200) -> None:
        super().__init__(message, status, "bad_answer")


class InvalidRequest(MayflyError):
    """400, 413, 415 and whatever else is the caller's fault."""


class NotAuthenticated(MayflyError):
    """401, 403: the API key."""


class NotFound(MayflyError):
    """404: no such task, or another key's."""


class Conflict(MayflyError):
    """409: the idempotency key was used with another request."""


class Expired(MayflyError):
    """410: inputs, artifacts and result are deleted."""


class Busy(MayflyError):
    """429, 503: try again after `retry_after`."""


_CLASSES = {401: NotAuthenticated, 403: NotAuthenticated, 404: NotFound, 409: Conflict, 410: Expired, 429: Busy, 503: Busy}


def _seconds(value: Optional[str]) -> Optional[float]:
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return None


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> MayflyError:
    """From an answer that is not the one that was asked for; its body need not be JSON."""
    said = {}
    try:
        parsed = json.loads(body)
        if isinstance(parsed, dict) and isinstance(parsed.get("error"), dict):
            said = {k: v for k, v in parsed["error"].items() if isinstance(v, str) and v}
    except (ValueError, RecursionError):
        pass  # a proxy answered, not Mayfly
    kind = _CLASSES.get(status, InvalidRequest if 400 <= status < 500 else MayflyError)
    return kind(said.get("message", "HTTP status %d" % status), status,
                said.get("code") or said.get("type") or "http_%d" % status, said.get("param"),
                _seconds(headers.get("retry-after")))
