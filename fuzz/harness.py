"""What the fuzzers share: run one target for a while, count inputs, and keep the first input that breaks it.

A target takes the data provider of the fuzzer. It may raise PolyjudgeError, which is a clear error; anything else, and
anything slower than 5 seconds, is a finding.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from collections.abc import Callable
from pathlib import Path

import atheris

SLOW = 5.0


def fuzz(target: Callable[[atheris.FuzzedDataProvider], None], allowed: tuple[type[BaseException], ...]) -> None:
    """Run `target` for --seconds, guided by coverage. Exit 1 with the input kept when something unexpected happens."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    args = parser.parse_args()
    args.keep.mkdir(exist_ok=True)
    tried = refused = 0
    begin = said = time.monotonic()

    def one(data: bytes) -> None:
        nonlocal tried, refused, said
        tried += 1
        start = time.process_time()  # a busy machine is no finding
        try:
            target(atheris.FuzzedDataProvider(data))
        except allowed:
            refused += 1
        except BaseException:
            (args.keep / f"{Path(sys.argv[0]).stem}.bin").write_bytes(data)
            raise
        if time.process_time() - start > SLOW:
            raise TimeoutError(f"an input took {time.process_time() - start:.1f} s")
        if time.monotonic() - said > 5:
            said = time.monotonic()
            name, spent = Path(sys.argv[0]).stem, said - begin
            print(f"{name}: {tried} inputs in {spent:.0f} s, {refused} refused with a clear error", file=sys.stderr)

    faulthandler.enable()
    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={args.seconds}",
            "-timeout=30",
            "-rss_limit_mb=2048",
            "-len_control=0",
            "-max_len=600",
        ],
        one,
    )
    atheris.Fuzz()
