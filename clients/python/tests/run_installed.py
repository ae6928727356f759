"""run_installed.py FOLDER: runs the examples of an unpacked python3-drover, with the modules that it installs."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tests.support import Server  # noqa: E402


def main() -> int:
    installed = pathlib.Path(sys.argv[1])
    modules = installed / "usr/lib/python3/dist-packages"
    examples = installed / "usr/share/doc/python3-drover/examples"
    server = Server("sqlite")
    failed = 0
    try:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(modules), "DROVER_STORE": server.url, "DROVER_TOKEN": server.token()}
        with tempfile.TemporaryDirectory() as elsewhere:
            for name in ("thumbnails.py", "many_waits.py", "subagents.py"):
                done = subprocess.run(
                    [sys.executable, str(examples / name)], env=environment, cwd=elsewhere, stdout=subprocess.PIPE, text=True, timeout=60
                )
                expected = [line[2:] for line in (examples / name).read_text().split("# Output:\n")[1].splitlines()]
                if done.stdout.splitlines() != expected:
                    print(f"{name}: printed {done.stdout!r}", file=sys.stderr)
                    failed += 1
            version = "import drover, importlib.metadata as m; print(drover.__file__, drover.__version__, m.version('drover-client'))"
            told = subprocess.run([sys.executable, "-c", version], env=environment, cwd=elsewhere, stdout=subprocess.PIPE, text=True).stdout
            if not told.startswith(str(modules)) or len(set(told.split()[1:])) != 1:
                print(f"another module was used: {told!r}", file=sys.stderr)
                failed += 1
    finally:
        server.close()
    print("the installed package works" if not failed else "the installed package does not work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
