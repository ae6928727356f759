"""Real servers for tests, on SQLite and on Redis, and a proxy that loses answers."""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, Dict, Iterator, List, Optional, Type

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import drover  # noqa: E402

BIN = os.environ.get("DROVER_BIN", str(ROOT.parent.parent / "build" / "release" / "drover"))
STORES = os.environ.get("DROVER_TEST_STORES", "sqlite,redis").split(",")
BOUND_S = 30.0  # how long anything may take before a test fails


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_until(is_so: Callable[[], Any], what: str, bound_s: float = BOUND_S) -> Any:
    """Looks again and again, for what nobody tells of."""
    deadline = time.monotonic() + bound_s
    pause = threading.Event()
    while True:
        found = is_so()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {bound_s} s for {what}")
        pause.wait(0.01)


class Redis:
    def __init__(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="drover-redis-")
        self.port = free_port()
        program = shutil.which("redis-server")
        if program is None:
            raise AssertionError("redis-server is missing; install it, or set DROVER_TEST_STORES=sqlite")
        self.process = subprocess.Popen(
            [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.dir],
            stdout=subprocess.DEVNULL,
        )
        wait_until(self._answers, "redis-server")

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as sock:
                sock.sendall(b"PING\r\n")
                return sock.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


_redis: Optional[Redis] = None
_redis_prefixes = 0


def redis_url() -> str:
    global _redis, _redis_prefixes
    if _redis is None:
        _redis = Redis()
        atexit.register(_redis.close)
    _redis_prefixes += 1
    return f"redis://127.0.0.1:{_redis.port}/0?prefix=t{_redis_prefixes}"


class Server:
    """`drover serve` on a store of its own."""

    def __init__(self, store: str, *options: str) -> None:
        self.options = options
        self.dir = tempfile.mkdtemp(prefix="drover-py-")
        self.store = redis_url() if store == "redis" else f"sqlite:{self.dir}/drover.db"
        self.port = free_port()
        self.socket = f"{self.dir}/s"
        self.url = f"http://127.0.0.1:{self.port}"
        self.unix_url = f"unix:{self.socket}"
        self.process: Optional[subprocess.Popen[str]] = None
        self._tokens: Dict[str, str] = {}
        self.start()

    def drover(self, *arguments: str) -> str:
        environment = {**os.environ, "DROVER_STORE": self.store, "XDG_STATE_HOME": self.dir, "XDG_CONFIG_HOME": self.dir}
        return subprocess.run([BIN, *arguments], env=environment, check=True, capture_output=True, text=True).stdout.strip()

    def start(self) -> None:
        environment = {**os.environ, "DROVER_STORE": self.store, "XDG_STATE_HOME": self.dir, "XDG_CONFIG_HOME": self.dir}
        listen = ["--listen", f"127.0.0.1:{self.port}", "--listen", f"unix:{self.socket}"]
        self.process = subprocess.Popen(
            [BIN, "serve", *listen, *self.options, "--log-level", "error"], env=environment, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        while line and "serving on" not in line:
            line = self.process.stderr.readline()
        if not line:
            raise AssertionError("drover serve did not start")
        self._reading = threading.Thread(target=self.process.stderr.read, daemon=True)  # so that it never waits for us
        self._reading.start()

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self._reading.join()
            assert self.process.stderr is not None
            self.process.stderr.close()
            self.process = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def token(self, role: str = "operator", *more: str) -> str:
        key = " ".join([role, *more])
        if key not in self._tokens:
            self._tokens[key] = self.drover("token", "create", "--role", role, *more)
        return self._tokens[key]

    def client(self, role: str = "operator", **options: Any) -> drover.Client:
        return drover.Client(options.pop("url", self.url), self.token(role), **options)

    def async_client(self, role: str = "operator", **options: Any) -> drover.AsyncClient:
        return drover.AsyncClient(options.pop("url", self.url), self.token(role), **options)


class Program:
    """Python in a process of its own, with the server in its environment."""

    def __init__(self, server: Server, source: str, *arguments: str, url: str = "", quiet: bool = False) -> None:
        environment = {
            "DROVER_STORE": url or server.url, "DROVER_TOKEN": server.token(), "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            text=True,
        )

        self._lines: "queue.SimpleQueue[str]" = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def line(self) -> str:
        try:
            return self._lines.get(timeout=BOUND_S)
        except queue.Empty:
            raise AssertionError(f"the program printed nothing for {BOUND_S} s") from None

    def signal(self, which: signal.Signals) -> None:
        self.process.send_signal(which)

    def wait(self) -> int:
        return self.process.wait(BOUND_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


class ServerCase(unittest.TestCase):
    """A test with a server; `on_every_store` makes one for each store."""

    store = "sqlite"
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(cls.store)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def setUp(self) -> None:
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def run_worker(self, worker: drover.Worker, **options: Any) -> "RunningWorker":
        running = RunningWorker(worker, **options)
        self.addCleanup(running.end)
        return running

    def program(self, source: str, *arguments: str, url: str = "") -> Program:
        program = Program(self.server, source, *arguments, url=url)
        self.addCleanup(program.close)
        return program

    def name(self) -> str:
        """A type of this test's own."""
        return self.id().rsplit(".", 1)[1]


def on_every_store(case: Type[ServerCase]) -> Type[ServerCase]:
    module = sys.modules[case.__module__]
    for store in STORES:
        name = f"{case.__name__}_{store}"
        setattr(module, name, type(name, (case,), {"store": store, "__module__": case.__module__, "__doc__": case.__doc__}))
    return type(case.__name__, (), {})  # the bare case is not run


class RunningWorker:
    """A worker in a thread."""

    def __init__(self, worker: drover.Worker, **options: Any) -> None:
        self.worker = worker
        self.report: Optional[drover.Report] = None
        self.error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, kwargs=options, daemon=True)
        self._thread.start()

    def _run(self, **options: Any) -> None:
        try:
            self.report = self.worker.run(signals=False, **options)
        except BaseException as error:
            self.error = error

    def join(self, bound_s: float = BOUND_S) -> drover.Report:
        self._thread.join(bound_s)
        if self._thread.is_alive():
            raise AssertionError(f"the worker has not ended within {bound_s} s")
        if self.error is not None:
            raise self.error
        assert self.report is not None
        return self.report

    def end(self) -> None:
        """Whatever state it is in."""
        while self._thread.is_alive():
            self.worker.stop()
            self._thread.join(0.2)


class Proxy:
    """Between client and server. `judge(method, target, count)` says what becomes of a request: "pass", "lose" its answer (the request
    takes effect), "refuse" it (nothing takes effect), "hold" its answer until the client goes away, or a number of seconds after which it is
    cut."""

    def __init__(self, port: int, judge: Callable[[str, str, int], Any]) -> None:
        self._upstream = port
        self._judge = judge
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.requests: List[str] = []
        self.lost = threading.Event()
        self._lock = threading.Lock()
        self._is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._is_closed = True
        self._listener.close()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                downstream, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(downstream,), daemon=True).start()

    def _serve(self, downstream: socket.socket) -> None:
        with downstream, contextlib.suppress(OSError, ValueError):
            upstream = socket.create_connection(("127.0.0.1", self._upstream), 10)
            with upstream:
                while True:
                    request = self._read(downstream)
                    if request is None:
                        return
                    method, target = request.split(b" ", 2)[:2]
                    with self._lock:
                        name = f"{method.decode()} {target.decode()}"
                        self.requests.append(name)
                        verdict = self._judge(method.decode(), target.decode(), len(self.requests))
                    if verdict == "refuse":
                        return
                    upstream.settimeout(verdict if isinstance(verdict, float) else 60)
                    upstream.sendall(request)
                    if verdict == "hold":
                        downstream.recv(1)
                        return
                    answer = self._read(upstream)
                    if verdict == "lose" or answer is None:
                        self.lost.set()
                        return
                    downstream.sendall(answer)

    @staticmethod
    def _read(sock: socket.socket) -> Optional[bytes]:
        """One whole message with a length."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return None
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(body) < length:
            more = sock.recv(65536)
            if not more:
                return None
            body += more
        return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
