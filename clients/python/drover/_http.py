"""HTTP/1.1 as a client speaks it, without any input or output: requests as bytes, answers from bytes."""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional

_HEAD_BYTES_MAX = 64 * 1024
_BODY_BYTES_MAX = 512 * 1024 * 1024
_CHUNK_LINE_BYTES_MAX = 1024


_HEX = frozenset(b"0123456789abcdefABCDEF")


def is_number(text: str) -> bool:
    """Of the digits 0 to 9, unlike what isdigit takes."""
    return text.isascii() and text.isdigit()


class BadAnswer(Exception):
    """What answers does not speak HTTP, or says too much."""


def format_request(method: str, target: str, host: str, headers: Mapping[str, str], body: Optional[bytes]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    elif method not in ("GET", "DELETE"):
        lines.append("Content-Length: 0")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("latin-1") + (body or b"")


class AnswerReader:
    """Reads one answer. Feed it what arrives until `is_done`; an end of the connection is `feed_end`."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.has_head = False
        self.is_done = False
        self.keeps_open = True  # whether the connection can be used again
        self._buffer = bytearray()
        self._body: List[bytes] = []
        self._body_bytes = 0
        self._left: Optional[int] = None  # of the body or the chunk; None: until the connection ends
        self._is_chunked = False
        self._in_trailer = False

    @property
    def has_begun(self) -> bool:
        return self.has_head or bool(self._buffer)

    def feed(self, data: bytes) -> None:
        if self.is_done:
            raise BadAnswer("the server sent more than its answer")
        self._buffer += data
        if not self.has_head and not self._read_head():
            return
        if self._is_chunked:
            self._read_chunks()
        else:
            self._read_plain()

    def feed_end(self) -> None:
        if self.has_head and not self._is_chunked and self._left is None:
            self.is_done = True
        elif not self.is_done:
            raise BadAnswer("the connection ended in the middle of an answer" if self.has_begun else "the connection ended")

    def take_body(self) -> bytes:
        """What has arrived of the body since the last call."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self._body_bytes = 0
        return body

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _HEAD_BYTES_MAX:
                raise BadAnswer("the head of the answer has no end")
            return False
        lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        parts = lines[0].split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not is_number(parts[1]):
            raise BadAnswer("this is not an HTTP server")
        self.status = int(parts[1])
        if 100 <= self.status < 200 and self.status != 101:
            return bool(self._buffer) and self._read_head()
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise BadAnswer("the answer has a header without a colon")
            self.headers[name.strip().lower()] = value.strip()
        self._choose_framing(parts[0])
        self.has_head = True
        return True

    def _choose_framing(self, version: str) -> None:
        self._is_chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length")
        if self.status in (101, 204, 304):
            self._left = 0
        elif self._is_chunked:
            self._left = 0  # the line with the size comes first
        elif length is not None:
            if not is_number(length) or len(length) > 12 or int(length) > _BODY_BYTES_MAX:
                raise BadAnswer("the answer is too large")
            self._left = int(length)
        asked_to_close = "close" in self.headers.get("connection", "").lower()
        ends_with_connection = self._left is None
        self.keeps_open = version == "HTTP/1.1" and not asked_to_close and not ends_with_connection

    def _keep(self, size: int) -> None:
        if size:
            self._body.append(bytes(self._buffer[:size]))
            self._body_bytes += size
            del self._buffer[:size]
        if self._body_bytes > _BODY_BYTES_MAX:
            raise BadAnswer("the answer is too large")

    def _read_plain(self) -> None:
        if self._left is None:
            return self._keep(len(self._buffer))
        size = min(self._left, len(self._buffer))
        self._keep(size)
        self._left -= size
        if self._left == 0:
            self._finish()

    def _read_chunks(self) -> None:
        while not self.is_done:
            if self._in_trailer:
                if not self._read_trailer_line():
                    return
                continue
            if not self._left:
                size = self._read_chunk_size()
                if size is None:
                    return
                if size == 0:
                    self._in_trailer = True
                    continue
                self._left = size + 2  # with the line end behind it
            if len(self._buffer) < self._left and self._left <= 2:
                return
            size = min(max(self._left - 2, 0), len(self._buffer))
            self._keep(size)
            self._left -= size
            if self._left > 2:
                return
            if len(self._buffer) < self._left:
                return
            del self._buffer[: self._left]
            self._left = 0

    def _read_chunk_size(self) -> Optional[int]:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _CHUNK_LINE_BYTES_MAX:
                raise BadAnswer("the answer has a chunk without a size")
            return None
        text = bytes(self._buffer[:end]).split(b";")[0].strip()
        del self._buffer[: end + 2]
        if not text or len(text) > 16 or not _HEX.issuperset(text):
            raise BadAnswer("the answer has a chunk without a size")
        size = int(text, 16)
        if size > _BODY_BYTES_MAX:
            raise BadAnswer("the answer is too large")
        return size

    def _read_trailer_line(self) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _HEAD_BYTES_MAX:
                raise BadAnswer("the trailer of the answer has no end")
            return False
        is_last = end == 0
        del self._buffer[: end + 2]
        if is_last:
            self._finish()
        return True

    def _finish(self) -> None:
        self.is_done = True
        if self._buffer:
            self.keeps_open = False
