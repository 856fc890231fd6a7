"""The client of Mayfly's task API: `Mayfly`, and `AsyncMayfly` for asyncio."""
from .aio import AsyncMayfly
from .client import Mayfly
from .errors import (BadAnswer, Busy, Conflict, ConnectionFailed, Expired, InvalidRequest, MayflyError, NotAuthenticated,
                     NotFound)
from .models import (Artifact, ArtifactEvent, Event, Input, InputFile, OutputEvent, RejectedArtifact, StatusEvent, Task,
                     TaskPage, TaskRequest, TaskRow, Truncated, Usage)

__all__ = ["Artifact", "ArtifactEvent", "AsyncMayfly", "BadAnswer", "Busy", "Conflict", "ConnectionFailed", "Event", "Expired",
           "Input", "InputFile", "InvalidRequest", "Mayfly", "MayflyError", "NotAuthenticated", "NotFound", "OutputEvent",
           "RejectedArtifact", "StatusEvent", "Task", "TaskPage", "TaskRequest", "TaskRow", "Truncated", "Usage"]
