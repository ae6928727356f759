"""Attacks on what parses bytes, and on what a peer can make the server hold. None of them needs a good token, unless it says so.

Each takes the server and the witness, and returns what was let through that should not have been.
"""

import contextlib
import os
import ssl
import time

from sockets import (connect, connect_many, exchange, frame, hold, is_connected, open_many, open_websocket, push, say_on_all, start_connect,
                     upgrade_request)
from target import OTHER_ADDRESSES

FLOOD_S = 3


def head(server, method="GET", path="/healthz", *fields, token=None):
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *fields]
    if token:
        lines.append(f"Authorization: Bearer {server.tokens[token]}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def flood(server, witness, opening, chunk, connections=16, seconds=FLOOD_S):
    """Opens a request and goes on for ever."""
    with connect_many(server, connections) as all_of_them:
        say_on_all(all_of_them, opening)
        push(all_of_them, chunk, seconds, witness)
    return []


# ---- heads

def endless_request_line(server, witness):
    return flood(server, witness, b"GET /", b"a" * 65536)


def endless_header(server, witness):
    return flood(server, witness, b"GET / HTTP/1.1\r\nX: ", b"a" * 65536)


def endless_headers(server, witness):
    return flood(server, witness, b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 8192)


def endless_empty_lines(server, witness):
    return flood(server, witness, b"", b"\r\n" * 32768)


def pipelined_and_unread(server, witness):
    return flood(server, witness, b"", head(server, "GET", "/openapi.json") * 64)


def answers(server, request):
    """The statuses that a request led to, and whether the connection was closed."""
    got, closed = exchange(connect(server), request, 2)
    statuses = [int(line.split()[1]) for line in got.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    return statuses, closed


SMUGGLED = b"GET /v1/smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
CHUNKED_BODY = b"%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n0\r\n\r\n"


def smuggling(server, witness):
    """A body of which two parsers may not agree where it ends is refused, and nothing behind it is read."""
    through = []
    codings = ["xchunked", "gzip", "identity", '"chunked"', "chunked, identity", "chunked, chunked", "identity, chunked",
               "gzip, chunked", " chunked\x0b", "chunked;q=1", "", ",", "chunked\r\nTransfer-Encoding: identity",
               "chunked\r\nContent-Length: 3", "chunked\r\nTransfer-Encoding: chunked"]
    requests = {f"Transfer-Encoding: {coding!r}":
                head(server, "POST", "/v1/tasks", "Content-Type: application/json", f"Transfer-Encoding: {coding}") +
                (CHUNKED_BODY if coding.startswith("chunked") else SMUGGLED) for coding in codings}
    for length in ["-1", "+3", "0x3", "3, 4", "3\r\nContent-Length: 4", "99999999999999999999", "3 3", "", "٣"]:
        requests[f"Content-Length: {length!r}"] = head(server, "POST", "/v1/tasks",
                                                       f"Content-Length: {length}") + SMUGGLED
    for name, field in {"space before the colon": "Transfer-Encoding : chunked",
                        "no name": ": x", "NUL in a value": "X: a\0b", "bare CR": "X: a\rb", "bare LF": "X: a\nY: b",
                        "TAB in a name": "X\ty: z"}.items():
        requests[name] = head(server, "POST", "/v1/tasks", field, "Content-Length: 0")
    for name, request in requests.items():
        statuses, closed = answers(server, request)
        if len(statuses) != 1 or statuses[0] not in (400, 413, 501) or not closed:
            through.append(f"{name}: {statuses}, {'closed' if closed else 'still open'}")
    return through


def doubtful_heads(server, witness):
    """Well-formed as messages, and to be refused for what they say. With a good token."""
    through = []
    good = f"Authorization: Bearer {server.tokens['admin']}"
    host = f"Host: 127.0.0.1:{server.port}"
    cases = {
        "a user in Host": [f"Host: localhost:{server.port}@evil.com", good],
        "another Host": ["Host: evil.com", good],
        "two Hosts": [host, "Host: evil.com", good],
        "no Host": [good],
        "Host with a path": [f"Host: 127.0.0.1:{server.port}/x", good],
        "two Authorizations": [host, good, "Authorization: Bearer drv_x_y"],
        "two Authorizations, the good one last": [host, "Authorization: Bearer drv_x_y", good],
        "Content-Encoding": [host, good, "Content-Type: application/json", "Content-Encoding: gzip", "Content-Length: 2"],
        "another origin": [host, good, "Origin: https://evil.com"],
    }
    for name, fields in cases.items():
        method, body = ("POST", b"{}") if "Content-Encoding" in name else ("GET", b"")
        request = ("\r\n".join([f"{method} /v1/tasks HTTP/1.1", *fields]) + "\r\n\r\n").encode() + body
        statuses, _ = answers(server, request)
        wanted = (400, 401, 403, 415, 421)
        if "Content-Encoding" in name:
            wanted = (400, 415)
        if len(statuses) != 1 or statuses[0] not in wanted:
            through.append(f"{name}: {statuses}")
    return through


# ---- chunks

CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")


def endless_chunk_size(server, witness):
    return flood(server, witness, head(server, "POST", "/v1/tasks", *CHUNKED), b"0" * 65536)


def endless_chunk_extension(server, witness):
    return flood(server, witness, head(server, "POST", "/v1/tasks", *CHUNKED) + b"1;", b"a" * 65536)


def endless_trailer(server, witness):
    return flood(server, witness, head(server, "POST", "/v1/tasks", *CHUNKED) + b"0\r\nX: ", b"a" * 65536)


def endless_trailers(server, witness):
    return flood(server, witness, head(server, "POST", "/v1/tasks", *CHUNKED) + b"0\r\n", b"X: y\r\n" * 8192)


def tiny_chunks(server, witness):
    return flood(server, witness, head(server, "POST", "/v1/tasks", *CHUNKED), b"1;x=y\r\na\r\n" * 8192)


def endless_chunks_of_a_token(server, witness):
    opening = head(server, "POST", "/v1/tasks", *CHUNKED, token="bob")
    return flood(server, witness, opening, b"ffff\r\n" + b" " * 65535 + b"\r\n")


def huge_bodies_unsigned(server, witness):
    opening = head(server, "POST", "/v1/tasks", "Content-Type: application/json", "Content-Length: 16777215")
    return flood(server, witness, opening, b" " * 65536, connections=100)


def huge_bodies_of_a_token(server, witness):
    opening = head(server, "POST", "/v1/tasks", "Content-Type: application/json", "Content-Length: 16777215", token="bob")
    return flood(server, witness, opening, b" " * 65536, connections=60)


# ---- WebSocket

def flood_websockets(witness, count, open_one, chunk):
    with open_many(count, open_one) as sockets:
        sent, still_open = push(sockets, chunk, FLOOD_S, witness)
        witness.note = f"{len(sockets)} connections, {still_open} of them open at the end, {sent >> 20} MB sent"
    return []


PINGS = frame(9, b"p" * 125) * 512


def pings(server, witness, token, connections):
    return flood_websockets(witness, connections, lambda: open_websocket(server, token, receive_bytes=4096), PINGS)


def pings_unsigned(server, witness):
    return pings(server, witness, None, 1)


def pings_of_many_unsigned(server, witness):
    return pings(server, witness, None, 64)


def pings_signed_in(server, witness):
    return pings(server, witness, "bob_viewer", 64)


def open_and_say(server, first, **options):
    connection = open_websocket(server, **options)
    connection.sendall(first)
    return connection


def pings_after_a_first_message(server, witness):
    """Signed in as a page does it."""
    token = frame(1, b'{"token":"%s"}' % server.tokens["bob_viewer"].encode())
    return flood_websockets(witness, 32, lambda: open_and_say(server, token, receive_bytes=4096), PINGS)


def endless_fragments(server, witness):
    beginning = frame(1, b"{", fin=False)
    return flood_websockets(witness, 32, lambda: open_and_say(server, beginning), frame(0, b" " * 65000, fin=False))


def bad_frames(server, witness):
    """Each ends the connection, and no answer but a close comes."""
    through = []
    cases = {
        "a control frame of 126 bytes": frame(9, b"p" * 126),
        "a control frame in fragments": frame(9, b"p", fin=False),
        "an unmasked frame": frame(1, b"{}", masked=False),
        "reserved bits": frame(1, b"{}", reserved=4),
        "a reserved opcode": frame(3, b""),
        "a reserved control opcode": frame(11, b""),
        "a continuation of nothing": frame(0, b"x"),
        "a message within a message": frame(1, b"{", fin=False) + frame(1, b"{}"),
        "2^63 bytes": frame(1, b"", length=1 << 63),
        "2^62 bytes": frame(1, b"", length=1 << 62),
        "2 GiB": frame(2, b"x" * 1000, length=1 << 31),
        "a length written too long": b"\x81\xfe\x00\x02\0\0\0\0{}",
        "a close of one byte": frame(8, b"\x03"),
        "a close with a bad code": frame(8, b"\x03\xed"),
        "text that is no UTF-8": frame(1, b"\xff\xfe"),
        "a token that is none": frame(1, b'{"token":"drv_a_b"}'),
        "JSON that is none": frame(1, b"[" * 1000),
        "binary": frame(2, b"{}"),
    }
    for name, bytes_sent in cases.items():
        try:
            connection = open_websocket(server)
        except (OSError, RuntimeError) as problem:
            through.append(f"{name}: {problem}")
            continue
        got, closed = exchange(connection, bytes_sent)
        if not closed or (got and got[0] & 0x0F != 8):
            through.append(f"{name}: {got[:40]!r}, {'closed' if closed else 'still open'}")
    return through


# ---- TLS (a server of its own)

def tls_garbage(server, witness):
    through = []
    for bytes_sent in [os.urandom(4096), b"GET / HTTP/1.1\r\n\r\n" * 50, b"\x16\x03\x01\xff\xff" + b"a" * 70000,
                       b"\x16\x03\x01\x00\x00" * 2000, b"\x15\x03\x03\x00\x02\x02\x28", b"\x17\x03\x03\x40\x00" + b"x" * 16384,
                       b"\x80\x2e\x01\x03\x01" + b"\0" * 64]:
        got, _ = exchange(connect(server), bytes_sent)  # a silent peer may be waited for, as long as a handshake may take
        if b"HTTP/1.1 200" in got:
            through.append(f"{bytes_sent[:16]!r} was answered")
    return through


def tls_endless_hello(server, witness):
    """A ClientHello that claims 16 MB, in records of 16 KB."""
    hello = b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"\x03\x03" + b"a" * (16384 - 6)
    return flood(server, witness, hello, b"\x16\x03\x01\x40\x00" + b"a" * 16384)


def tls_pings(server, witness):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def open_one():
        raw = context.wrap_socket(connect(server))
        raw.sendall(upgrade_request(server).replace(b"Origin: http:", b"Origin: https:"))
        raw.recv(4096)
        raw.settimeout(0.05)
        return raw

    with open_many(16, open_one) as sockets:
        end = time.monotonic() + FLOOD_S
        while time.monotonic() < end and not witness.is_lost():
            say_on_all(sockets, frame(9, b"p" * 125) * 64)
    return []


def tls_silent(server, witness):
    with connect_many(server, 2000, source="127.0.0.3"):
        hold(FLOOD_S, witness)
    return []


# ---- JSON and queries, with a good token

def bad_json(server, witness):
    through = []
    deep = 200_000
    bodies = {
        "deep arrays": b"[" * deep, "deep objects": b'{"a":' * deep, "closed deep arrays": b"[" * deep + b"]" * deep,
        "a long number": b'{"type":"t","payload":' + b"1" * 900_000 + b"}",
        "a large exponent": b'{"type":"t","priority":1e999999999}', "NaN": b'{"type":"t","payload":NaN}',
        "no UTF-8": b'{"type":"\xff\xfe"}', "half a surrogate": b'{"type":"\\ud800"}', "NUL": b'{"type":"a\\u0000b"}',
        "the same key twice": b'{"type":"a","type":"b"}', "many keys": b"{" + b",".join(b'"k%d":1' % i for i in range(60_000)) + b"}",
        "a BOM": b'\xef\xbb\xbf{"type":"t"}', "nothing": b"", "rubbish behind": b'{"type":"t"} x',
        "depth in the payload": b'{"type":"t","payload":' + b"[" * 5000 + b"]" * 5000 + b"}",
        "ten thousand and one": b'{"tasks":[' + b",".join([b'{"type":"t"}'] * 10_001) + b"]}",
    }
    for name, body in bodies.items():
        status, text = server.ask("POST", "/v1/tasks", "bob", body, {"Content-Type": "application/json"})
        if not 400 <= status < 500:
            # What is only unusual may be taken; whatever is taken must come back as it was.
            if status == 201 and name in ("a long number", "NUL"):
                continue
            through.append(f"{name}: {status} {text[:80]}")
    return through


def bad_queries(server, witness):
    through = []
    values = ["x", "-1", "99999999999999999999", "1e3", "%00", "%ff%fe", "%zz", "%", "0x1", "1;2", "'%20OR%201=1--", "a" * 60_000,
              "%F0%9F%90%91", "..%2f..%2fetc%2fpasswd", "{}", "null", "-9223372036854775809"]
    paths = ["/v1/tasks?cursor={}", "/v1/tasks?limit={}", "/v1/tasks?spawner={}", "/v1/tasks?finished_before={}",
             "/v1/tasks?fingerprint={}", "/v1/tasks/{}", "/v1/tasks/{}/wait?timeout=0s", "/v1/events?after={}", "/v1/events?limit={}",
             "/v1/changes?timeout={}", "/v1/stats?owner={}", "/v1/gates/{}", "/v1/dump/tasks?ids={}", "/v1/dump/ids?after={}",
             "/v1/workers/{}/claim", "/v1/tokens/{}"]
    for path in paths:
        for value in values:
            for method in ("GET", "POST") if "claim" in path or "gates" in path else ("GET",):
                raw = answers(server, head(server, method, path.format(value), "Connection: close",
                                           *(["Content-Length: 0"] if method == "POST" else []), token="admin"))
                if len(raw[0]) != 1 or raw[0][0] >= 500:
                    through.append(f"{method} {path.format(value)[:60]}: {raw[0]}")
    return through


# ---- what nobody reads, and who says nothing

def unread_lists(server, witness):
    """300 connections ask for a list of 9 MB and do not read it. With a good token."""
    batch = [{"type": "big", "owner": "bob", "payload": "x" * 200_000} for _ in range(45)]
    server.ask_json("POST", "/v1/tasks", "bob", {"tasks": batch}, timeout=60)
    with connect_many(server, 300, receive_bytes=4096) as sockets:
        say_on_all(sockets, head(server, "GET", "/v1/tasks?limit=1000&type=big", token="bob"))
        hold(8, witness)
    return []


def unread_streams(server, witness):
    """200 streams of events that nobody reads, while much happens. With a good token."""
    with connect_many(server, 200, receive_bytes=4096) as sockets:
        say_on_all(sockets, head(server, "GET", "/v1/events?snapshot=true", "Accept: text/event-stream", token="bob"))
        end = time.monotonic() + 6
        while time.monotonic() < end and not witness.is_lost():
            server.ask("POST", "/v1/tasks", "bob", {"tasks": [{"type": "n", "tags": ["x" * 50]} for _ in range(500)]}, timeout=30)
    return []


def unread_openapi(server, witness):
    with connect_many(server, 500, receive_bytes=4096) as sockets:
        say_on_all(sockets, head(server, "GET", "/openapi.json") * 20)
        hold(5, witness)
    return []


def silent(server, witness, count, addresses, seconds):
    turns = iter(range(count))
    with open_many(count, lambda: start_connect(server, addresses[next(turns) % len(addresses)])) as sockets:
        hold(seconds, witness)
        kept = sum(is_connected(one) for one in sockets)
        witness.note = f"{kept} of {count} from {len(addresses)} addresses still connected at the end"
    return []


def silent_of_one_address(server, witness):
    return silent(server, witness, 4000, ["127.0.0.2"], 6)


def ten_thousand_connections(server, witness):
    return silent(server, witness, 10_000, OTHER_ADDRESSES, 6)


def letter_by_letter(server, witness, count, source, opening, letters):
    """A letter a second of each."""
    with connect_many(server, count, source=source, timeout=1) as sockets:
        say_on_all(sockets, opening)
        for letter in letters:
            for connection in sockets:
                with contextlib.suppress(OSError):
                    connection.send(bytes([letter]))
            hold(1, witness)
    return []


def slow_heads(server, witness):
    return letter_by_letter(server, witness, 2000, "127.0.0.4", b"", b"GET /v")


def slow_bodies(server, witness):
    opening = head(server, "POST", "/v1/tasks", "Content-Type: application/json", "Content-Length: 1000000", token="bob")
    return letter_by_letter(server, witness, 1000, "127.0.0.5", opening, b"     ")


def long_polls(server, witness):
    """1,000 waits that last. With a good token."""
    with connect_many(server, 1000, source="127.0.0.6", timeout=1) as sockets:
        say_on_all(sockets, head(server, "GET", "/v1/changes?timeout=30s", token="bob"))
        hold(5, witness)
    return []


PLAIN = [endless_request_line, endless_header, endless_headers, endless_empty_lines, pipelined_and_unread, smuggling, doubtful_heads,
         endless_chunk_size, endless_chunk_extension, endless_trailer, endless_trailers, tiny_chunks, endless_chunks_of_a_token,
         huge_bodies_unsigned, huge_bodies_of_a_token, pings_unsigned, pings_of_many_unsigned, pings_signed_in,
         pings_after_a_first_message, endless_fragments, bad_frames, bad_json, bad_queries, unread_lists, unread_streams,
         unread_openapi, silent_of_one_address, ten_thousand_connections, slow_heads, slow_bodies, long_polls]
TLS = [tls_garbage, tls_endless_hello, tls_pings, tls_silent]
