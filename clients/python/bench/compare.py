#!/usr/bin/env python3
"""Drains no-op tasks from Redis: a Drover worker beside RQ and Celery (Debian: python3-rq, python3-celery).

usage: compare.py --drover BIN [--tasks 10000] [--rounds 5] [--only TEXT]

Each round starts a fresh redis-server, enqueues the tasks, and then measures how long one worker process takes for them. Rounds are
interleaved, so that a busy machine is busy for all. The median of each is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def connect(port: int) -> socket.socket:
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.01)
    raise SystemExit(f"nothing answers on port {port}")


def child(what: str, *arguments: str, **environment: str) -> float:
    """Seconds that a worker process says it took."""
    done = subprocess.run(
        [sys.executable, str(HERE), what, *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


# --- workers, each in a process of its own -----------------------------------------------------------------------------------


def drover_worker(tasks: int, is_async: bool) -> float:
    sys.path.insert(0, str(HERE.parent.parent))
    import drover

    with drover.Client() as client:
        for first in range(0, tasks, 1000):
            client.enqueue_many([("noop", n) for n in range(first, min(first + 1000, tasks))])
    if is_async:
        import asyncio

        async def later(payload: int, ctx: drover.AsyncContext) -> None:
            pass

        async def main() -> float:
            async with drover.AsyncClient() as client:
                worker = drover.AsyncWorker(client, [drover.task("noop")(later)], concurrency=100)
                begun = time.monotonic()
                report = await worker.run(until_empty=True)
                assert report.completed == tasks
                return time.monotonic() - begun

        return asyncio.run(main())
    with drover.Client() as client:
        worker = drover.Worker(client, [drover.task("noop")(lambda payload, ctx: None)], concurrency=100)
        begun = time.monotonic()
        report = worker.run(until_empty=True)
        assert report.completed == tasks
        return time.monotonic() - begun


def noop(payload: int) -> None:
    pass


def rq_worker(tasks: int, port: int, forks: bool) -> float:
    import logging

    import redis
    import rq

    sys.modules["compare"] = sys.modules["__main__"]
    noop.__module__ = "compare"
    connection = redis.Redis(port=port)
    queue = rq.Queue(connection=connection)
    for first in range(0, tasks, 1000):
        queue.enqueue_many([rq.Queue.prepare_data("compare.noop", (n,)) for n in range(first, min(first + 1000, tasks))])
    logging.disable(logging.CRITICAL)
    worker = (rq.Worker if forks else rq.SimpleWorker)([queue], connection=connection)
    begun = time.monotonic()
    worker.work(burst=True)
    assert len(rq.registry.FinishedJobRegistry(queue=queue)) == tasks
    return time.monotonic() - begun


def celery_app(port: int):  # type: ignore[no-untyped-def]
    import celery

    app = celery.Celery("compare", broker=f"redis://127.0.0.1:{port}/0", backend=f"redis://127.0.0.1:{port}/1")
    app.conf.update(worker_hijack_root_logger=False, task_acks_late=True, worker_prefetch_multiplier=100, broker_connection_retry_on_startup=True)
    app.task(name="noop")(noop)
    return app


def celery_run(tasks: int, port: int, pool: str, concurrency: str) -> float:
    """The worker is a process; how far it is shows in Redis: a result for each task."""
    import redis

    app = celery_app(port)
    with app.pool.acquire() as connection:
        for n in range(tasks):
            app.tasks["noop"].apply_async((n,), connection=connection)
    worker = subprocess.Popen(
        [sys.executable, str(HERE), "celery-worker", str(port), pool, concurrency], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    results = redis.Redis(port=port, db=1)
    begun = None
    try:
        while True:
            done = int(results.dbsize())
            if begun is None and done:
                begun = time.monotonic()
            if done >= tasks and begun is not None:
                return time.monotonic() - begun
            time.sleep(0.005)
    finally:
        worker.terminate()
        worker.wait()


def celery_worker(port: int, pool: str, concurrency: str) -> None:
    celery_app(port).worker_main(["worker", "-P", pool, "-c", concurrency, "-l", "CRITICAL", "--without-gossip", "--without-mingle"])


# --- rounds ------------------------------------------------------------------------------------------------------------------


class Redis:
    def __enter__(self) -> int:
        self.port = free_port()
        self.dir = tempfile.mkdtemp(prefix="drover-bench-")
        options = ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", self.dir]
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), *options], stdout=subprocess.DEVNULL)
        connect(self.port).close()
        return self.port

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir)


def drover_round(binary: str, tasks: int, kind: str) -> float:
    with Redis() as port:
        listen = free_port()
        environment = {**os.environ, "DROVER_STORE": f"redis://127.0.0.1:{port}/0"}
        token = subprocess.run([binary, "token", "create", "--role", "operator"], env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()  # fmt: skip
        server = subprocess.Popen([binary, "serve", "--listen", f"127.0.0.1:{listen}"], env=environment, stderr=subprocess.DEVNULL)
        try:
            connect(listen).close()
            return child(kind, str(tasks), DROVER_STORE=f"http://127.0.0.1:{listen}", DROVER_TOKEN=token)
        finally:
            server.terminate()
            server.wait()


def peer_round(tasks: int, *arguments: str) -> float:
    with Redis() as port:
        return child(arguments[0], str(tasks), str(port), *arguments[1:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--drover", required=True)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    binary, tasks = given.drover, given.tasks
    systems = {
        "drover Worker, 100 handlers": lambda: drover_round(binary, tasks, "drover"),
        "drover AsyncWorker, 100 handlers": lambda: drover_round(binary, tasks, "drover-async"),
        "rq SimpleWorker": lambda: peer_round(tasks, "rq-simple"),
        "rq Worker (forks)": lambda: peer_round(max(tasks // 10, 1), "rq") * 10,
        "celery solo": lambda: peer_round(tasks, "celery", "solo", "1"),
        "celery threads, 8": lambda: peer_round(tasks, "celery", "threads", "8"),
        "celery prefork, 2": lambda: peer_round(tasks, "celery", "prefork", "2"),
    }
    systems = {name: run for name, run in systems.items() if given.only in name}
    seconds = {name: [] for name in systems}
    for number in range(given.rounds):
        for name, run in systems.items():
            seconds[name].append(run())
            print(f"round {number + 1}: {name}: {tasks / seconds[name][-1]:,.0f}/s", file=sys.stderr, flush=True)
    print(f"{tasks} no-op tasks on Redis, median of {given.rounds} interleaved rounds; load of the machine {os.getloadavg()[0]:.1f}")
    for name, measured in seconds.items():
        rates = sorted(tasks / one for one in measured)
        print(f"{name:34} {statistics.median(rates):8,.0f}/s   ({rates[0]:,.0f} to {rates[-1]:,.0f})")


WORKERS = {
    "drover": lambda tasks: drover_worker(int(tasks), False),
    "drover-async": lambda tasks: drover_worker(int(tasks), True),
    "rq": lambda tasks, port: rq_worker(int(tasks), int(port), True),
    "rq-simple": lambda tasks, port: rq_worker(int(tasks), int(port), False),
    "celery": lambda tasks, port, pool, concurrency: celery_run(int(tasks), int(port), pool, concurrency),
    "celery-worker": lambda port, pool, concurrency: celery_worker(int(port), pool, concurrency),
}

if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in WORKERS:
        print(WORKERS[sys.argv[1]](*sys.argv[2:]))
    else:
        main()
