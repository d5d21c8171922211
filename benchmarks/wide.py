"""Time and memory of the audit of small files with thousands of judges or languages, as a user runs it."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPES = ((2, 2, 5000), (2, 5000, 2), (2, 300, 300))
BUDGET = "4GB"
MAKE = """
import sys, numpy as np, polyjudge as pj
shape = tuple(map(int, sys.argv[1].split("x")))
scores = np.random.default_rng(0).integers(0, 101, shape)
pj.Panel.from_array(scores.astype(float)).to_long().to_csv(sys.argv[2], index=False)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            name = "x".join(map(str, shape))
            file = Path(folder) / f"{name}.csv.gz"
            subprocess.run([sys.executable, "-c", MAKE, name, str(file)], check=True)
            begun = time.monotonic()
            command = [
                sys.executable,
                "-m",
                "polyjudge",
                "audit",
                str(file),
                "--memory",
                BUDGET,
                "-o",
                f"{folder}/{name}",
            ]
            done = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
            _, status, used = os.wait4(done.pid, 0)
            page = Path(folder) / name / "report.html"
            print(
                f"{name:>12}  {file.stat().st_size / 1024:6.0f} kB  exit {os.waitstatus_to_exitcode(status)}  "
                f"{time.monotonic() - begun:6.1f} s  {used.ru_utime + used.ru_stime:6.1f} s of CPU  "
                f"{used.ru_maxrss / 1024:6.0f} MB  page {page.stat().st_size / 1e6:.1f} MB",
                flush=True,
            )


if __name__ == "__main__":
    assert resource  # POSIX alone
    main()
