"""Every example runs, and prints what the comment at its end says."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import unittest
from typing import Dict, List

from .support import BOUND_S, ROOT, STORES, Redis, Server, ServerCase, on_every_store

EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py"))
PAIRED = ("celery_before.py", "celery_after.py")  # which need a worker beside them


def expected(name: str) -> List[str]:
    lines = (ROOT / "examples" / name).read_text().split("# Output:\n")[1].splitlines()
    return [line[2:] for line in lines]


def output(name: str, environment: Dict[str, str]) -> List[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name)], env=environment, stdout=subprocess.PIPE, text=True, timeout=2 * BOUND_S
    )
    return done.stdout.splitlines()


def environment_for(server: Server) -> Dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "DROVER_STORE": server.url, "DROVER_TOKEN": server.token()}


@on_every_store
class Examples(ServerCase):
    def test_examples_print_what_they_say(self) -> None:
        self.assertGreater(len(EXAMPLES), 5)
        for path in EXAMPLES:
            if path.name not in PAIRED:
                with self.subTest(path.name):
                    self.assertEqual(expected(path.name), output(path.name, environment_for(self.server)))

    def test_the_program_of_the_readme(self) -> None:
        program = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment_for(self.server), stdout=subprocess.PIPE, text=True, timeout=2 * BOUND_S
        )
        self.assertEqual("Hello, Ada!\n", done.stdout)

    def test_the_program_that_came_from_celery(self) -> None:
        environment = environment_for(self.server)
        worker = subprocess.Popen([sys.executable, str(ROOT / "examples" / "celery_after.py"), "worker"], env=environment)
        try:
            self.assertEqual(expected("celery_after.py"), output("celery_after.py", environment))
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(0, worker.wait(BOUND_S))
        finally:
            worker.kill()
            worker.wait()


@unittest.skipUnless(importlib.util.find_spec("celery") and "redis" in STORES, "needs Celery, from python3-celery, and Redis")
class WithCelery(unittest.TestCase):
    """The page shows the same program before and after: so the one before must run, too."""

    def test_the_program_with_celery(self) -> None:
        self.assertEqual(expected("celery_after.py"), expected("celery_before.py"))
        redis = Redis()
        self.addCleanup(redis.close)
        environment = {"PATH": os.environ["PATH"], "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0", "PYTHONPATH": str(ROOT / "examples")}
        command = [sys.executable, "-m", "celery", "-A", "celery_before", "worker", "-P", "threads", "-c", "4", "-l", "CRITICAL"]
        worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=redis.dir)
        try:
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", "import celery_before; celery_before.main()"], env=environment,
                                  stdout=subprocess.PIPE, text=True, timeout=3 * BOUND_S)  # fmt: skip
            self.assertEqual(expected("celery_before.py"), done.stdout.splitlines())
        finally:
            worker.kill()
            worker.wait()


if __name__ == "__main__":
    unittest.main()
