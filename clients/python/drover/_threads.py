"""Threads for handlers: one for each slot, started when they are needed.

A thread that takes a run wakes one more thread if more runs wait. So handlers that block all start at once, and handlers that return
immediately share one thread.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable, Deque, List

from ._run import Run


class HandlerThreads:
    def __init__(self, count: int, work: Callable[[Run], None], rest: Callable[[], None]) -> None:
        """`work` runs a handler and never raises; `rest` is called when no run waits to be started."""
        self._count = count
        self._work = work
        self._rest = rest
        self._ready: Deque[Run] = deque()
        self._lock = threading.Lock()
        self._woken = threading.Condition(self._lock)
        self._threads = 0
        self._idle = 0
        self._is_waking = False
        self._is_closed = False

    def start(self, runs: List[Run]) -> None:
        with self._lock:
            self._ready.extend(runs)
            self._wake_one()

    def close(self) -> None:
        """Idle threads end now, the others when their handlers return. No thread keeps the process from ending."""
        with self._lock:
            self._is_closed = True
            self._woken.notify_all()

    def _wake_one(self) -> None:
        """Holds the lock."""
        if self._is_waking or not self._ready:
            return
        if self._idle:
            self._is_waking = True
            self._woken.notify()
        elif self._threads < self._count:
            self._is_waking = True
            self._threads += 1
            threading.Thread(target=self._loop, name=f"drover-handler-{self._threads}", daemon=True).start()

    def _loop(self) -> None:
        is_new = True
        while True:
            with self._lock:
                if is_new:
                    self._is_waking = is_new = False
                while not self._ready:
                    if self._is_closed:
                        self._threads -= 1
                        return
                    self._idle += 1
                    self._woken.wait()
                    self._idle -= 1
                    self._is_waking = False
                run = self._ready.popleft()
                self._wake_one()
                is_last = not self._ready
            if is_last:
                self._rest()  # ends that were kept for company are told before this run, which may be long
            self._work(run)
            if not self._ready:
                self._rest()
