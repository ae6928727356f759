"""What happens, as a stream that is resumed where it broke off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Union

from . import wire
from ._json import Loads
from .errors import Unauthorised

# The server says something at least every 15 s. A proxy that keeps it back lets nothing through for longer.
SILENCE_S = 40.0
_FRAME_BYTES_MAX = 64 * 1024 * 1024
_POLICY_VIOLATION = 1008


@dataclass(frozen=True)
class Gap:
    """Events were asked for that the store does not have any more: those between `after` and `seq`."""

    after: int
    seq: int


DroverEvent = Union[wire.Event, Gap]


class EventCursor:
    """Reads server-sent events, and knows where to go on."""

    def __init__(self, after: int, filters: Mapping[str, Optional[str]], loads: Loads) -> None:
        self.after = after
        self.filters = filters
        self.frames = 0  # since the stream began
        self._loads = loads
        self._buffer = b""

    def begin(self) -> None:
        self._buffer = b""
        self.frames = 0

    def feed(self, data: bytes) -> List[DroverEvent]:
        self._buffer += data
        *frames, self._buffer = self._buffer.split(b"\n\n")
        if len(self._buffer) > _FRAME_BYTES_MAX:
            raise ValueError("the server sends a frame without an end")
        found: List[DroverEvent] = []
        for frame in frames:
            lines = [line[5:].strip() for line in frame.decode("utf-8").splitlines() if line.startswith("data:")]
            if lines:
                self.frames += 1
                found += self._take(self._loads("\n".join(lines)))
        return found

    def _take(self, frame: Dict[str, Any]) -> List[DroverEvent]:
        kind = frame.get("kind")
        if kind == "events":
            events: List[DroverEvent] = [event for event in frame["events"] if event["seq"] > self.after]
            self.after = max(self.after, frame["seq"])
            return events
        if kind == "gap":
            gap = Gap(frame["after"], frame["seq"])
            self.after = frame["seq"]
            return [gap]
        if kind == "bye" and frame.get("code") == _POLICY_VIOLATION:
            raise Unauthorised(str(frame.get("reason") or "the token is not valid any more"), "unauthorised", 401)
        return []

    def take_page(self, page: wire.ListEventsAnswer) -> List[DroverEvent]:
        """The same from a page, which is not filtered. A page cannot tell of a gap to those who see only a part of the events."""
        events = page["events"]
        found: List[DroverEvent] = [event for event in events if self._is_wanted(event)]
        self.after = max(self.after, page["next"])
        return found

    def _is_wanted(self, event: wire.Event) -> bool:
        members: Mapping[str, Any] = event
        names = {"task": "task_id"}
        return all(value is None or members.get(names.get(name, name)) == value for name, value in self.filters.items())
