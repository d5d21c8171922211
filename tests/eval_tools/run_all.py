"""Run every eval tool once with mock judges (`make tools`), in an environment of their own (.venv-tools).

What they write lies in .venv-tools/runs. The tests read kept copies of it (tests/read/tools); copy anew what should
change there, and note the versions in its README.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / ".venv-tools"
TOOLS = ("promptfoo", "deepeval", "mlflow", "langfuse", "inspect")
NPM = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--omit=optional", "--ignore-scripts"]


def set_up() -> None:
    """Pinned packages of the tools; promptfoo needs Node.js and one optional part for this machine."""
    uv = [Path(sys.executable).with_name("uv")]
    subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, PLACE], check=True)
    pinned = ["--require-hashes", "--python", PLACE / "bin/python", ROOT / "requirements/tools.txt"]
    subprocess.run([*uv, "pip", "sync", "-q", *pinned], check=True)
    node = PLACE / "node"
    node.mkdir()
    shutil.copy(ROOT / "requirements/node/package.json", node)
    subprocess.run([*NPM, "--before=2026-08-08"], cwd=node, check=True)
    optional = json.loads((node / "node_modules/libsql/package.json").read_text())["optionalDependencies"]
    machine = f"{sys.platform}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
    parts = [f"{n}@{v}" for n, v in optional.items() if machine in n and not n.endswith("musl")]
    subprocess.run([*NPM, "--no-save", *parts], cwd=node, check=True)


def main() -> None:
    """Set up if need be, then run all at the same time."""
    if not (PLACE / "node/node_modules/libsql").exists():
        set_up()
    folder, promptfoo = PLACE / "runs", PLACE / "node/node_modules/.bin/promptfoo"
    shutil.rmtree(folder, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    started = {}
    for tool in TOOLS:
        python = sys.executable if tool == "inspect" else PLACE / "bin/python"  # Inspect is the tests' own
        line = [python, HERE / f"run_{tool}.py", folder / tool, promptfoo]
        started[tool] = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for tool, process in started.items():
        said, _ = process.communicate(timeout=240)
        if process.returncode:
            sys.exit(f"{tool}: {said[-2000:]}")
    print(f"Wrote {', '.join(TOOLS)} under {folder}")


if __name__ == "__main__":
    main()
