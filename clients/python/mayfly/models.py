"""What is asked and what comes back. Times are ISO 8601 in UTC, as the server sends them."""
from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from .errors import BadAnswer

ENDED = frozenset({"succeeded", "failed", "timed_out", "cancelled"})


# ---- the request ----

@dataclass(frozen=True)
class InputFile:
    """`content`: bytes, text (sent as UTF-8), or the path of a file, which is read while it is sent."""

    name: str
    content: Union[bytes, str, "os.PathLike[str]"] = field(repr=False)

    @classmethod
    def from_path(cls, path: Union[str, "os.PathLike[str]"], name: Optional[str] = None) -> "InputFile":
        """The file at `path`, under its own last name or another one."""
        place = _Path(os.fspath(path))
        return cls(os.path.basename(place.path) if name is None else name, place)


@dataclass(frozen=True)
class _Path:
    path: str

    def __fspath__(self) -> str:
        return self.path


@dataclass(frozen=True)
class TaskRequest:
    """`timeout_ms`: 1 to 60000 (default 60000); `memory_mb`: default 1024. `display_last_expression`: the value of a last
    expression is printed, as a notebook does it. `source_name`: what tracebacks call the code, a file name (default main.py)."""

    code: str = field(repr=False)
    files: Sequence[InputFile] = ()
    timeout_ms: Optional[int] = None
    memory_mb: Optional[int] = None
    display_last_expression: bool = False
    language: str = "python"
    source_name: Optional[str] = None

    def to_wire(self) -> Dict[str, Any]:
        """Without the files, which go beside it."""
        wire: Dict[str, Any] = {"language": self.language, "code": self.code}
        limits = {"timeoutMs": self.timeout_ms, "memoryMb": self.memory_mb}
        limits = {k: v for k, v in limits.items() if v is not None}
        if limits:
            wire["limits"] = limits
        if self.display_last_expression:
            wire["display_last_expression"] = True
        if self.source_name is not None:
            wire["source_name"] = self.source_name
        return wire


# ---- the task ----

@dataclass(frozen=True)
class Artifact:
    """`path` is where the program put it; the program chose it, so do not use it as a path unchecked."""

    artifact_id: str
    path: str
    size_bytes: int
    sha256: str
    mime_type: str
    url: str


@dataclass(frozen=True)
class RejectedArtifact:
    path: str
    reason: str


@dataclass(frozen=True)
class Input:
    """The last three are hints for files like CSV, None for others."""

    name: str
    size_bytes: int
    sha256: str
    encoding_guess: Optional[str] = None
    delimiter: Optional[str] = None
    bom: Optional[bool] = None


@dataclass(frozen=True)
class Usage:
    duration_ms: float
    cpu_ms: Optional[float] = None
    memory_mb: Optional[float] = None
    fuel: Optional[int] = None  # instructions that were executed, where the server's provider counts them


@dataclass(frozen=True)
class Truncated:
    stdout: bool = False
    stderr: bool = False


@dataclass(frozen=True)
class Task:
    """`status`: queued, running, succeeded, failed, timed_out or cancelled. `reason`, `exit_code`, `signal`, `usage` and
    `receipt` are None until the end. `queue_position`: 1 is next. `raw`: all that the server sent."""

    task_id: str
    status: str
    stdout: str = ""
    stderr: str = ""
    reason: Optional[str] = None
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    queue_position: Optional[int] = None
    truncated: Truncated = Truncated()
    artifacts: Tuple[Artifact, ...] = ()
    rejected_artifacts: Tuple[RejectedArtifact, ...] = ()
    denied: Tuple[str, ...] = ()
    inputs: Tuple[Input, ...] = ()
    usage: Optional[Usage] = None
    receipt: Optional[Dict[str, Any]] = field(default=None, repr=False)
    created_at: Optional[str] = None
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    expires_at: Optional[str] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True)
class TaskRow:
    """What a list tells of a task; `get` has the rest. `input_bytes`, `artifact_bytes`: of all its files together. `raw`: all that
    the server sent."""

    task_id: str
    status: str
    input_bytes: int
    artifact_bytes: int
    queue_position: Optional[int] = None
    created_at: Optional[str] = None
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    expires_at: Optional[str] = None
    raw: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True)
class TaskPage:
    """Newest first."""

    data: Tuple[TaskRow, ...]
    first_id: Optional[str]
    last_id: Optional[str]
    has_more: bool


# ---- events ----

@dataclass(frozen=True)
class Event:
    """`id` is what `events(task_id, after=id)` goes on behind. `type`: status, stdout, stderr or artifact."""

    id: str
    type: str


@dataclass(frozen=True)
class OutputEvent(Event):
    text: str


@dataclass(frozen=True)
class ArtifactEvent(Event):
    artifact: Artifact


@dataclass(frozen=True)
class StatusEvent(Event):
    """The last event is the one of the end."""

    task_id: str
    status: str
    queue_position: Optional[int] = None
    reason: Optional[str] = None
    exit_code: Optional[int] = None

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED


# ---- from the wire ----

class _Reader:
    """Members of a JSON object that have the type they must have; BadAnswer otherwise."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise BadAnswer("the answer is not a JSON object: is this a Mayfly server?")
        self.value: Mapping[str, Any] = value

    def get(self, name: str, *types: type, default: Any = None) -> Any:
        found = self.value.get(name)
        if found is None:
            return default
        if not isinstance(found, types) or (isinstance(found, bool) and bool not in types):
            raise BadAnswer("'%s' in the answer is of another type" % name)
        return found

    def need(self, name: str, *types: type) -> Any:
        found = self.get(name, *types)
        if found is None:
            raise BadAnswer("'%s' is missing in the answer: is this a Mayfly server?" % name)
        return found

    def all(self, name: str, make: Any) -> Tuple[Any, ...]:
        return tuple(make(v) for v in self.get(name, list, default=[]))


def artifact_of(value: Any) -> Artifact:
    r = _Reader(value)
    return Artifact(r.need("artifactId", str), r.need("path", str), r.need("sizeBytes", int), r.need("sha256", str),
                    r.get("mimeType", str, default="application/octet-stream"), r.need("url", str))


def _rejected_of(value: Any) -> RejectedArtifact:
    r = _Reader(value)
    return RejectedArtifact(r.need("path", str), r.get("reason", str, default=""))


def _input_of(value: Any) -> Input:
    r = _Reader(value)
    return Input(r.need("name", str), r.need("sizeBytes", int), r.need("sha256", str), r.get("encodingGuess", str),
                 r.get("delimiter", str), r.get("bom", bool))


def _usage_of(value: Any) -> Usage:
    r = _Reader(value)
    return Usage(r.need("durationMs", int, float), r.get("cpuMs", int, float), r.get("memoryMb", int, float),
                 r.get("fuel", int))


def task_of(value: Any) -> Task:
    r = _Reader(value)
    truncated, usage = _Reader(r.get("truncated", dict, default={})), r.get("usage", dict)
    return Task(
        r.need("taskId", str), r.need("status", str), r.get("stdout", str, default=""), r.get("stderr", str, default=""),
        r.get("reason", str), r.get("exitCode", int), r.get("signal", int), r.get("queuePosition", int),
        Truncated(truncated.get("stdout", bool, default=False), truncated.get("stderr", bool, default=False)),
        r.all("artifacts", artifact_of), r.all("rejectedArtifacts", _rejected_of), r.all("denied", str),
        r.all("inputs", _input_of), _usage_of(usage) if usage is not None else None, r.get("receipt", dict),
        r.get("createdAt", str), r.get("startedAt", str), r.get("finishedAt", str), r.get("expiresAt", str), dict(r.value))


def _row_of(value: Any) -> TaskRow:
    r = _Reader(value)
    return TaskRow(
        r.need("taskId", str), r.need("status", str), r.need("inputBytes", int), r.need("artifactBytes", int),
        r.get("queuePosition", int), r.get("createdAt", str), r.get("startedAt", str), r.get("finishedAt", str),
        r.get("expiresAt", str), dict(r.value))


def page_of(value: Any) -> TaskPage:
    r = _Reader(value)
    return TaskPage(r.all("data", _row_of), r.get("first_id", str), r.get("last_id", str), r.get("has_more", bool, default=False))


def event_of(event_id: str, kind: str, value: Any) -> Optional[Event]:
    """None: of a kind that a newer server sends."""
    r = _Reader(value)
    if kind in ("stdout", "stderr"):
        return OutputEvent(event_id, kind, r.get("text", str, default=""))
    if kind == "artifact":
        return ArtifactEvent(event_id, kind, artifact_of(value))
    if kind == "status":
        return StatusEvent(event_id, kind, r.need("taskId", str), r.need("status", str), r.get("queuePosition", int),
                           r.get("reason", str), r.get("exitCode", int))
    return None
