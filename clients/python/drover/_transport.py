"""HTTP over blocking sockets, for Client and for the threads of a worker. Safe to use from several threads, and after a fork."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
import weakref
from typing import Iterator, List, Optional

from ._address import Address
from ._calls import Answer, Call
from ._http import AnswerReader, BadAnswer
from ._retry import Attempts, Trouble, check_answer, not_answered, not_reached
from ._settings import IDLE_S_MAX, Settings

_CHUNK = 256 * 1024
_IDLE_MAX = 32  # connections that are kept for later


class Abort:
    """Ends a call from another thread. What it ended may have taken effect."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self.is_raised = False

    def raise_(self) -> None:
        with self._lock:
            self.is_raised = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it has gone already

    def watch(self, sock: Optional[socket.socket]) -> None:
        with self._lock:
            self._socket = sock
            if sock is not None and self.is_raised:
                raise ConnectionAbortedError("the call was given up")


class _Connection:
    def __init__(self, sock: socket.socket, server: int) -> None:
        self.sock = sock
        self.server = server
        self.idle_since = 0.0

    def is_usable(self) -> bool:
        if time.monotonic() - self.idle_since > IDLE_S_MAX:
            return False
        poll = select.poll()  # unlike select, for any number of descriptors
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)  # anything to read is its end

    def close(self) -> None:
        try:
            self.sock.close()
        except OSError:
            pass  # gone either way


def connect(settings: Settings, address: Address, timeout_s: float) -> socket.socket:
    if address.path:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout_s)
            sock.connect(address.path)
        except BaseException:
            sock.close()
            raise
        return sock
    sock = socket.create_connection((address.host, address.port), timeout_s)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tls:
            return settings.tls_of(address).wrap_socket(sock, server_hostname=address.host)
        return sock
    except BaseException:
        sock.close()
        raise


_transports: "weakref.WeakSet[Transport]" = weakref.WeakSet()


def _forget_all() -> None:
    for transport in list(_transports):
        transport.forget_connections()


os.register_at_fork(after_in_child=_forget_all)


class Transport:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._idle: List[_Connection] = []
        self._server = 0  # the one that answered last
        self._is_closed = False
        _transports.add(self)

    def close(self) -> None:
        with self._lock:
            idle, self._idle, self._is_closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def forget_connections(self) -> None:
        """In the child of a fork: the connections are the parent's, and a thread that is gone may have held the lock."""
        idle, self._idle, self._lock = self._idle, [], threading.Lock()
        for connection in idle:
            connection.close()

    def perform(self, call: Call, *, patience_s: Optional[float] = None, abort: Optional[Abort] = None) -> Answer:
        """Makes the call, and repeats it where that is safe: `retries` times, or for `patience_s` if that is given."""
        attempts = Attempts(call, self.settings.retries, len(self.settings.addresses), patience_s)
        while True:
            try:
                return self.attempt(call, abort)
            except Trouble as trouble:
                pause = attempts.pause_after(trouble)
            time.sleep(pause)

    def attempt(self, call: Call, abort: Optional[Abort] = None) -> Answer:
        """Makes the call once. Raises Trouble if it may be made again."""
        deadline = time.monotonic() + self.settings.timeout_of(call)
        connection = self._connection(deadline)
        address = self.settings.addresses[connection.server]
        mark = self.settings.seen.mark()
        reader = AnswerReader()
        is_kept = False
        try:
            if abort is not None:
                abort.watch(connection.sock)
            self._send(connection, self.settings.request_of(call, address, mark), deadline)
            while not reader.is_done:
                self._receive(connection, reader, deadline)
            is_kept = reader.keeps_open
        except (OSError, BadAnswer) as error:
            self._leave_server(connection.server)
            raise not_answered(address, error) from None
        finally:
            if abort is not None:
                abort.watch(None)
            if is_kept:
                self._keep(connection)
            else:
                connection.close()
        body = reader.take_body()
        self.settings.take_seen(mark, reader.headers)
        try:
            check_answer(reader.status, reader.headers, body)
        except Trouble:
            self._leave_server(connection.server)
            raise
        return Answer(reader.status, reader.headers, body, self.settings.loads)

    def stream(self, call: Call, silence_s: float) -> Iterator[bytes]:
        """The body as it arrives. Ends with the connection; raises Trouble after `silence_s` without a byte."""
        deadline = time.monotonic() + self.settings.timeout_of(call)
        connection = self._connection(deadline)
        address = self.settings.addresses[connection.server]
        reader = AnswerReader()
        try:
            mark = self.settings.seen.mark()
            self._send(connection, self.settings.request_of(call, address, mark), deadline)
            while not reader.has_head:
                self._receive(connection, reader, deadline)
            while reader.status >= 400 and not reader.is_done:
                self._receive(connection, reader, deadline)
            if reader.status >= 400:
                check_answer(reader.status, reader.headers, reader.take_body())
            while True:
                yield reader.take_body()
                if reader.is_done:
                    return
                self._receive(connection, reader, time.monotonic() + silence_s)
        except (OSError, BadAnswer) as error:
            self._leave_server(connection.server)
            raise not_answered(address, error) from None
        finally:
            connection.close()

    def _connection(self, deadline: float) -> _Connection:
        while True:
            with self._lock:
                if self._is_closed:
                    raise ValueError("the client is closed")
                server = self._server
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            if connection.server == server and connection.is_usable():
                return connection
            connection.close()
        address = self.settings.addresses[server]
        try:
            return _Connection(connect(self.settings, address, max(deadline - time.monotonic(), 0.001)), server)
        except (OSError, ValueError) as error:  # ValueError: not a valid host name
            self._leave_server(server)
            raise not_reached(address, error) from None

    def _leave_server(self, server: int) -> None:
        with self._lock:
            if self._server == server:
                self._server = (server + 1) % len(self.settings.addresses)

    def _keep(self, connection: _Connection) -> None:
        connection.idle_since = time.monotonic()
        with self._lock:
            if not self._is_closed and len(self._idle) < _IDLE_MAX:
                self._idle.append(connection)
                return
        connection.close()

    @staticmethod
    def _send(connection: _Connection, request: bytes, deadline: float) -> None:
        connection.sock.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.sock.sendall(request)

    @staticmethod
    def _receive(connection: _Connection, reader: AnswerReader, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        connection.sock.settimeout(left)
        data = connection.sock.recv(_CHUNK)
        if data:
            reader.feed(data)
        else:
            reader.feed_end()


