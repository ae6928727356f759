"""Kills workers and servers with SIGKILL while tasks run: none is lost, and each ends once.

usage: python3 -m tests.kill_storm [--store sqlite|redis] [--kills 200] [--tasks 20000] [--seed N]
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import sys
import threading
import time
from typing import Any, List

from .support import Program, Server, wait_until

WORKER = """
import asyncio, random, sys, drover
name, is_async = sys.argv[1], sys.argv[2] == "async"
options = dict(concurrency=16, lease=2.0, heartbeat=0.3)
def work(payload, ctx):
    ctx.wait_cancelled(random.random() * 0.3)
    return payload
async def work_async(payload, ctx):
    await ctx.wait_cancelled(random.random() * 0.3)
    return payload
if is_async:
    asyncio.run(drover.AsyncWorker(drover.AsyncClient(), [drover.task(name)(work_async)], **options).run())
else:
    drover.Worker(drover.Client(), [drover.task(name)(work)], **options).run()
"""


class Storm:
    def __init__(self, store: str, kills: int, tasks: int, seed: int) -> None:
        self.random = random.Random(seed)
        self.kills, self.tasks = kills, tasks
        self.server = Server(store)
        self.server.token()  # while the server lives
        self.client = self.server.client(retries=20)
        self.workers = [self.start_worker(n) for n in range(4)]
        self.ids: List[str] = []
        self.next_batch = threading.Semaphore(0)

    def start_worker(self, number: int) -> Program:
        return Program(self.server, WORKER, "storm", "async" if number % 2 else "sync", quiet=True)

    def enqueue(self) -> None:
        """Some before each kill, so that there is work for all of them. Through whatever happens to the server."""
        size = -(-self.tasks // self.kills)
        for first in range(0, self.tasks, size):
            self.next_batch.acquire()
            batch = [{"type": "storm", "payload": n, "max_stalls": 100_000} for n in range(first, min(first + size, self.tasks))]
            self.ids += [handle.id for handle in self.client.enqueue_many(batch)]

    def kill_one(self, number: int) -> None:
        if number % 5 == 0:
            self.server.kill()
            self.server.start()
            return
        which = self.random.randrange(len(self.workers))
        self.workers[which].close()
        self.workers[which] = self.start_worker(which)

    def counts(self) -> Any:
        return self.client.call("GET", "/v1/stats")["tasks"]

    def run(self) -> int:
        enqueuing = threading.Thread(target=self.enqueue)
        enqueuing.start()
        pause = threading.Event()
        for number in range(self.kills):
            self.next_batch.release()
            pause.wait(self.random.uniform(0.05, 0.6))
            self.kill_one(number)
        enqueuing.join()
        wait_until(lambda: self.counts()["completed"] >= self.tasks, "all tasks", 900)
        return self.judge()

    def judge(self) -> int:
        ends: "collections.Counter[str]" = collections.Counter()
        names: "collections.Counter[str]" = collections.Counter()
        after = 0
        while True:
            page = self.client.call("GET", f"/v1/events?after={after}&limit=1000")
            for event in page["events"]:
                names[event["name"]] += 1
                if event["name"] in ("task.completed", "task.failed", "task.cancelled"):
                    ends[event["task_id"]] += 1
            if page["next"] == after:
                break
            after = page["next"]
        lost = [task_id for task_id in self.ids if ends[task_id] == 0]
        twice = [task_id for task_id, count in ends.items() if count > 1]
        strange = set(ends) - set(self.ids)
        print(f"{len(self.ids)} tasks, {names['task.claimed']} runs, {names['task.stalled']} stalls; lost {len(lost)}, ended twice {len(twice)}, "
              f"not ours {len(strange)}, failed {names['task.failed']}")  # fmt: skip
        is_good = not (lost or twice or strange or names["task.failed"]) and len(set(self.ids)) == self.tasks
        return 0 if is_good and names["task.stalled"] >= self.kills else 1  # else the kills hit nothing

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        self.client.close()
        self.server.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", default="sqlite")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    given = parser.parse_args()
    print(f"{given.store}, {given.kills} kills, seed {given.seed}", flush=True)
    begun = time.monotonic()
    storm = Storm(given.store, given.kills, given.tasks, given.seed)
    try:
        return storm.run()
    finally:
        storm.close()
        print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
