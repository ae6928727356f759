"""HTTP over asyncio's streams, for AsyncClient: a call that waits costs a connection, not a thread."""

from __future__ import annotations

import asyncio
import os
import time
from typing import AsyncIterator, List, Optional, Type

from ._address import Address
from ._calls import Answer, Call
from ._http import AnswerReader, BadAnswer
from ._retry import Attempts, Trouble, check_answer, not_answered, not_reached
from ._settings import IDLE_S_MAX, Settings

_CHUNK = 256 * 1024
_IDLE_MAX = 32


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: int) -> None:
        self.reader = reader
        self.writer = writer
        self.server = server
        self.idle_since = 0.0

    def is_usable(self) -> bool:
        return time.monotonic() - self.idle_since <= IDLE_S_MAX and not self.reader.at_eof() and not self.writer.is_closing()

    def close(self) -> None:
        try:
            self.writer.transport.abort()
        except RuntimeError:
            pass  # its event loop is closed


class _Deadline:
    """Ends a connection when its time is over. Unlike asyncio.wait_for, which may swallow a cancel before Python 3.12, it only looks at
    the clock."""

    def __init__(self, connection: _Connection, seconds: float) -> None:
        self.is_over = False
        self._connection = connection
        self._timer = asyncio.get_running_loop().call_later(max(seconds, 0.001), self._end)

    def _end(self) -> None:
        self.is_over = True
        self._connection.close()

    def __enter__(self) -> "_Deadline":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        self._timer.cancel()
        if self.is_over and kind is not None and issubclass(kind, Exception):
            raise asyncio.TimeoutError


async def _connect_within(settings: Settings, address: Address, seconds: float) -> "tuple[asyncio.StreamReader, asyncio.StreamWriter]":
    connecting = asyncio.ensure_future(_connect(settings, address))
    try:
        await asyncio.wait({connecting}, timeout=max(seconds, 0.001))
        if not connecting.done():
            raise asyncio.TimeoutError
        return connecting.result()
    except BaseException:
        connecting.cancel()
        connecting.add_done_callback(_close_unwanted)
        raise


def _close_unwanted(connecting: "asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]") -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result()[1].transport.abort()


async def _connect(settings: Settings, address: Address) -> "tuple[asyncio.StreamReader, asyncio.StreamWriter]":
    if address.path:
        return await asyncio.open_unix_connection(address.path, limit=_CHUNK)
    if not address.tls:
        return await asyncio.open_connection(address.host, address.port, limit=_CHUNK)
    context = settings.tls_of(address)
    return await asyncio.open_connection(address.host, address.port, limit=_CHUNK, ssl=context, server_hostname=address.host)


class AsyncTransport:
    def __init__(self, settings: Settings, max_connections: int) -> None:
        self.settings = settings
        self._max_connections = max_connections
        self._idle: List[_Connection] = []
        self._server = 0
        self._is_closed = False
        self._home: object = None  # the event loop and process that the connections belong to
        self._room: Optional[asyncio.Semaphore] = None

    def close(self) -> None:
        self._is_closed = True
        self._forget()

    def _forget(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _come_home(self) -> asyncio.Semaphore:
        home = (os.getpid(), id(asyncio.get_running_loop()), asyncio.get_running_loop())
        if self._home != home or self._room is None:
            # After a fork the loop is the parent's still, and closing its transports would disturb it: just let go.
            self._idle = []
            self._home = home
            self._room = asyncio.Semaphore(self._max_connections)
        return self._room

    async def perform(self, call: Call, *, patience_s: Optional[float] = None) -> Answer:
        attempts = Attempts(call, self.settings.retries, len(self.settings.addresses), patience_s)
        while True:
            try:
                return await self.attempt(call)
            except Trouble as trouble:
                pause = attempts.pause_after(trouble)
            await asyncio.sleep(pause)

    async def attempt(self, call: Call) -> Answer:
        async with self._come_home():
            return await self._attempt(call)

    async def _attempt(self, call: Call) -> Answer:
        deadline = time.monotonic() + self.settings.timeout_of(call)
        connection = await self._connection(deadline)
        address = self.settings.addresses[connection.server]
        mark = self.settings.seen.mark()
        reader = AnswerReader()
        is_kept = False
        try:
            with _Deadline(connection, deadline - time.monotonic()):
                connection.writer.write(self.settings.request_of(call, address, mark))
                await connection.writer.drain()
                while not reader.is_done:
                    await self._receive(connection, reader)
            is_kept = reader.keeps_open
        except (OSError, BadAnswer, asyncio.TimeoutError) as error:
            self._leave_server(connection.server)
            raise not_answered(address, error) from None
        finally:
            if is_kept and not self._is_closed and len(self._idle) < _IDLE_MAX:
                connection.idle_since = time.monotonic()
                self._idle.append(connection)
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

    async def stream(self, call: Call, silence_s: float) -> AsyncIterator[bytes]:
        """The body as it arrives. Ends with the connection; raises Trouble after `silence_s` without a byte."""
        async with self._come_home():
            deadline = time.monotonic() + self.settings.timeout_of(call)
            connection = await self._connection(deadline)
            address = self.settings.addresses[connection.server]
            reader = AnswerReader()
            try:
                with _Deadline(connection, deadline - time.monotonic()):
                    connection.writer.write(self.settings.request_of(call, address, self.settings.seen.mark()))
                    while not reader.has_head or (reader.status >= 400 and not reader.is_done):
                        await self._receive(connection, reader)
                if reader.status >= 400:
                    check_answer(reader.status, reader.headers, reader.take_body())
                while True:
                    yield reader.take_body()
                    if reader.is_done:
                        return
                    with _Deadline(connection, silence_s):
                        await self._receive(connection, reader)
            except (OSError, BadAnswer, asyncio.TimeoutError) as error:
                self._leave_server(connection.server)
                raise not_answered(address, error) from None
            finally:
                connection.close()

    async def _connection(self, deadline: float) -> _Connection:
        if self._is_closed:
            raise ValueError("the client is closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.server == self._server and connection.is_usable():
                return connection
            connection.close()
        server = self._server
        address = self.settings.addresses[server]
        try:
            reader, writer = await _connect_within(self.settings, address, deadline - time.monotonic())
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            self._leave_server(server)
            raise not_reached(address, error) from None
        return _Connection(reader, writer, server)

    def _leave_server(self, server: int) -> None:
        if self._server == server:
            self._server = (server + 1) % len(self.settings.addresses)

    @staticmethod
    async def _receive(connection: _Connection, reader: AnswerReader) -> None:
        data = await connection.reader.read(_CHUNK)
        if data:
            reader.feed(data)
        else:
            reader.feed_end()
