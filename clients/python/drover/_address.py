"""Where a Drover server is: http://HOST[:PORT], https://HOST[:PORT][?ca=FILE], unix:PATH, or several of these with commas."""

from __future__ import annotations

import os
from typing import List, NamedTuple, Optional
from urllib.parse import unquote

from .errors import Invalid

DEFAULT_URL = "http://127.0.0.1:7711"
_DEFAULT_PORT = 7711
_HTTPS_PORT = 443


class Address(NamedTuple):
    host: str  # empty for a Unix socket
    port: int
    path: str  # of a Unix socket
    tls: bool
    ca_file: Optional[str]
    name: str  # what the Host header says

    def __str__(self) -> str:
        if self.path:
            return f"unix:{self.path}"
        return f"{'https' if self.tls else 'http'}://{self.name}"


def _refuse(url: str) -> Invalid:
    shown = url.split("?")[0].rsplit("@", 1)[-1]  # what is left out may be a password or a token
    return Invalid(
        f"{shown!r} is not the address of a server; use http://HOST:PORT, https://HOST:PORT or unix:PATH", "invalid_argument"
    )


def _split_port(rest: str, url: str, default: int) -> "tuple[str, int]":
    host, port = rest, ""
    closing = rest.find("]")
    colon = rest.find(":", max(closing, 0))
    if colon >= 0:
        host, port = rest[:colon], rest[colon + 1 :]
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise _refuse(url)
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not host or any(c in host for c in " /@?#"):
        raise _refuse(url)
    return host, int(port) if port else default


def parse_address(url: str) -> Address:
    if not url.isascii() or any(c < "!" for c in url.replace(" ", "" if url.startswith("unix:") else " ")):
        raise _refuse(url)
    if url.startswith("unix:"):
        if len(url) == len("unix:"):
            raise _refuse(url)
        return Address("", 0, url[len("unix:") :], False, None, "drover")
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https"):
        raise _refuse(url)
    rest, _, query = rest.partition("?")
    ca_file = None
    if query or url.endswith("?"):
        if scheme != "https" or not query.startswith("ca=") or len(query) == len("ca="):
            raise _refuse(url)
        ca_file = unquote(query[len("ca=") :])
    rest = rest[:-1] if rest.endswith("/") else rest
    host, port = _split_port(rest, url, _HTTPS_PORT if scheme == "https" else _DEFAULT_PORT)
    return Address(host, port, "", scheme == "https", ca_file, rest)


def parse_addresses(urls: Optional[str]) -> List[Address]:
    """Without urls: those of DROVER_STORE, else the address where `drover serve` listens by default."""
    given = urls if urls is not None else os.environ.get("DROVER_STORE") or DEFAULT_URL
    return [parse_address(url) for url in given.split(",")]


def find_token(token: Optional[str]) -> str:
    """Without a token: that of DROVER_TOKEN."""
    found = token if token is not None else os.environ.get("DROVER_TOKEN", "")
    if not all("!" <= c <= "~" for c in found):
        raise Invalid("the token has a character in it that no token has", "invalid_argument")
    return found
