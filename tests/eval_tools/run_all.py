"""Run every eval tool once, all at the same time: FOLDER/TOOL/... (`make tools`). The tests read what they wrote.

python run_all.py FOLDER PROMPTFOO
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = ("promptfoo", "deepeval", "mlflow", "langfuse", "inspect")


def main() -> None:
    folder, promptfoo = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    commands = {tool: [HERE / f"run_{tool}.py", folder / tool, promptfoo] for tool in TOOLS}
    own = {"inspect": str(HERE.parents[1] / ".venv" / "bin" / "python")}  # of the tests' own environment
    started = {
        tool: subprocess.Popen(
            [own.get(tool, sys.executable), *command],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for tool, command in commands.items()
    }
    for tool, process in started.items():
        said, _ = process.communicate(timeout=240)
        if process.returncode:
            sys.exit(f"{tool}: {said[-2000:]}")


if __name__ == "__main__":
    main()
