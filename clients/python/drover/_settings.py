"""What a client was told, and what it has seen of the store: shared by all that speak for it."""

from __future__ import annotations

import ssl
import threading
from dataclasses import dataclass, field
from typing import Dict, List, Optional

from . import _json
from ._address import Address, find_token, parse_addresses
from ._calls import Call
from ._http import format_request, is_number
from .errors import Invalid

IDLE_S_MAX = 30.0  # a connection that was idle for longer may be gone without a word
_SEEN = "drover-seen"


class Seen:
    """How far the store was, as servers said it. Sent with every request, it lets a server notice that its store went backwards."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mark = ""

    def mark(self) -> str:
        return self._mark

    def take(self, sent: str, told: Optional[str]) -> None:
        """Within an epoch the largest number counts. A new epoch counts only if the server knew the old mark."""
        if not told or told.count(":") != 3:
            return
        with self._lock:
            if not self._mark:
                self._mark = told
                return
            old, new = self._mark.split(":"), told.split(":")
            if old[0] != new[0] or (old[1] != new[1] and sent == self._mark):
                self._mark = told
            elif old[1] == new[1] and is_number(old[3]) and is_number(new[3]) and int(new[3]) > int(old[3]):
                self._mark = told


@dataclass
class Settings:
    addresses: List[Address]
    token: str
    timeout_s: float
    retries: int
    loads: _json.Loads
    seen: Seen = field(default_factory=Seen)
    _tls: Dict[Address, ssl.SSLContext] = field(default_factory=dict)

    @staticmethod
    def make(url: Optional[str], token: Optional[str], timeout: float, retries: int, floats: str) -> "Settings":
        if timeout <= 0:
            raise Invalid("timeout: expected seconds above 0", "invalid_argument")
        if retries < 0:
            raise Invalid("retries: expected 0 or more", "invalid_argument")
        if floats not in ("float", "decimal"):
            raise Invalid("floats: expected 'float' or 'decimal'", "invalid_argument")
        loads = _json.loads_decimal if floats == "decimal" else _json.loads_float
        return Settings(parse_addresses(url), find_token(token), timeout, retries, loads)

    def tls_of(self, address: Address) -> ssl.SSLContext:
        """Made once: reading the certificates takes longer than a request."""
        context = self._tls.get(address)
        if context is None:
            context = self._tls[address] = ssl.create_default_context(cafile=address.ca_file)
        return context

    def timeout_of(self, call: Call) -> float:
        return (call.timeout_s if call.timeout_s is not None else self.timeout_s) + call.wait_s

    def request_of(self, call: Call, address: Address, sent_mark: str) -> bytes:
        headers: Dict[str, str] = dict(call.headers)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if sent_mark:
            headers["Drover-Seen"] = sent_mark
        return format_request(call.method, call.target, address.name, headers, call.body)

    def take_seen(self, sent_mark: str, headers: Dict[str, str]) -> None:
        self.seen.take(sent_mark, headers.get(_SEEN))
