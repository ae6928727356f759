"""One process of an agent CLI, as a worker would run it: pipes, a session of its own, the prompt on stdin."""

import ctypes
import os
import pathlib
import signal
import subprocess
import threading
import time

PR_SET_CHILD_SUBREAPER = 36   # of <linux/prctl.h>


class Running:
    """A started process and what it has said so far. stop() ends all that is left of its group."""

    def __init__(self, argv, cwd, env, prompt):
        self.begun = self.heard = time.monotonic()
        self.said = {"stdout": b"", "stderr": b""}
        self.process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True)
        self.threads = [threading.Thread(target=self.feed, args=(prompt.encode(),), daemon=True),
                        threading.Thread(target=self.listen, args=("stdout",), daemon=True),
                        threading.Thread(target=self.listen, args=("stderr",), daemon=True)]
        for thread in self.threads:
            thread.start()

    def feed(self, prompt):
        """A CLI may take its time to read its prompt, or end before it has read all of it."""
        try:
            with self.process.stdin as stdin:
                stdin.write(prompt)
        except BrokenPipeError:
            pass

    def listen(self, name):
        pipe = getattr(self.process, name)
        while chunk := os.read(pipe.fileno(), 65536):
            self.said[name] += chunk
            self.heard = time.monotonic()

    def text(self, name):
        return self.said[name].decode(errors="replace")

    def quiet_s(self):
        """How long it has said nothing."""
        return time.monotonic() - self.heard

    def ended_within(self, seconds):
        try:
            self.process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def signal(self, number):
        os.killpg(self.process.pid, number)

    def stop(self):
        try:
            self.signal(signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for thread in self.threads:
            thread.join(5)


def adopt_orphans():
    """What our processes start stays below us, even if it leaves its session and its parent ends."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def processes_below(ancestor):
    parents = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    below, found = {ancestor}, True
    while found:
        found = {pid for pid, parent in parents.items() if parent in below} - below
        below |= found
    return below - {ancestor}


def processes_showing(marker):
    """The names of processes below us that have the marker where others on the machine can read it: arguments and environment."""
    found = set()
    for pid in processes_below(os.getpid()):
        entry = pathlib.Path("/proc") / str(pid)
        try:
            if any(marker in (entry / file).read_bytes() for file in ("cmdline", "environ")):
                found.add((entry / "comm").read_text().strip())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return found
