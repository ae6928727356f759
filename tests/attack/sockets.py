"""Raw sockets: many at once, that send without reading."""

import base64
import contextlib
import os
import socket
import struct
import time


def connect(server, source="127.0.0.2", receive_bytes=None, timeout=5):
    raw = socket.socket()
    raw.settimeout(timeout)
    if receive_bytes:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    raw.bind((source, 0))
    raw.connect(("127.0.0.1", server.port))
    return raw


def start_connect(server, source):
    """Does not wait until the server takes it."""
    raw = socket.socket()
    raw.setblocking(False)
    raw.bind((source, 0))
    raw.connect_ex(("127.0.0.1", server.port))
    return raw


def is_connected(raw):
    try:
        return raw.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def open_many(count, open_one):
    """As many as the server takes. All are closed in the end."""
    connections = []
    try:
        for _ in range(count):
            try:
                connections.append(open_one())
            except (OSError, RuntimeError):
                break
        yield connections
    finally:
        for connection in connections:
            connection.close()


def connect_many(server, count, **options):
    return open_many(count, lambda: connect(server, **options))


def say_on_all(connections, text):
    """Whoever was turned out says nothing."""
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.sendall(text)


def push(connections, chunk, seconds, witness, bytes_max=4 << 30):
    """Sends the chunk again and again over each of them and reads nothing, until the time is over or all are closed."""
    open_ones = list(connections)
    left = {connection: b"" for connection in open_ones}
    for connection in open_ones:
        connection.setblocking(False)
    end, sent = time.monotonic() + seconds, 0
    while open_ones and time.monotonic() < end and sent < bytes_max and not witness.is_lost():
        moved = 0
        for connection in list(open_ones):
            try:
                left[connection] = left[connection] or chunk
                count = connection.send(left[connection])
                left[connection] = left[connection][count:]
                moved += count
            except BlockingIOError:
                continue
            except OSError:
                open_ones.remove(connection)
        sent += moved
        if moved == 0:
            time.sleep(0.005)
    return sent, len(open_ones)


def hold(seconds, witness):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not witness.is_lost():
        time.sleep(0.05)


def read_all(connection, seconds=3.0, bytes_max=1 << 20):
    """Until the peer closes. The bytes, and whether it closed."""
    got = b""
    end = time.monotonic() + seconds
    while len(got) < bytes_max and time.monotonic() < end:
        connection.settimeout(max(0.01, end - time.monotonic()))
        try:
            more = connection.recv(65536)
        except (TimeoutError, socket.timeout):
            return got, False
        except OSError:
            return got, True
        if not more:
            return got, True
        got += more
    return got, False


def exchange(connection, text, seconds=3.0):
    """Says it and reads until the peer closes. The bytes, and whether it closed."""
    try:
        connection.sendall(text)
        return read_all(connection, seconds)
    except OSError:
        return b"", True
    finally:
        connection.close()


# ---- WebSocket

def upgrade_request(server, token=None):
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ["GET /v1/ws HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: Upgrade", "Upgrade: websocket",
             "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
    lines.append(f"Authorization: Bearer {server.tokens[token]}" if token else f"Origin: http://127.0.0.1:{server.port}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def frame(opcode, payload, fin=True, masked=True, reserved=0, length=None):
    """A frame; `length` is what it claims to have."""
    claimed = len(payload) if length is None else length
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    mask_bit = 0x80 if masked else 0
    if claimed < 126:
        head += bytes([mask_bit | claimed])
    elif claimed < 1 << 16:
        head += bytes([mask_bit | 126]) + struct.pack(">H", claimed)
    else:
        head += bytes([mask_bit | 127]) + struct.pack(">Q", claimed)
    return head + (b"\0\0\0\0" if masked else b"") + payload


def open_websocket(server, token=None, **options):
    connection = connect(server, **options)
    connection.sendall(upgrade_request(server, token))
    head = b""
    while b"\r\n\r\n" not in head:
        more = connection.recv(4096)
        if not more:
            break
        head += more
    if b" 101 " not in head:
        connection.close()
        raise RuntimeError("no upgrade: " + head[:60].decode("latin-1"))
    return connection
