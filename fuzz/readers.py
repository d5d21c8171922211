"""Coverage-guided fuzzing of everything that reads a file: `make fuzz ARGS="--seconds 60"`.

Bytes become a table, a tool's file, a log of Inspect (a zip), a database or a calibrator. A reader may refuse them by
an error of ours; anything else is a finding, and its bytes are kept in fuzz-findings/.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    from polyjudge.base.errors import PolyjudgeError
    from polyjudge.calibrate.saved import load_calibrator
    from polyjudge.read import read_panel, rows
    from polyjudge.simulate import sample_panel

ENDS = (".csv", ".tsv", ".json", ".jsonl", ".csv.gz", ".parquet", ".sqlite", ".duckdb", ".eval", ".cal", "")
FOLDER = Path(tempfile.mkdtemp(prefix="polyjudge-fuzz-"))
FOUND = Path("fuzz-findings")


def one_input(data: bytes) -> None:
    """The first byte says what the others are."""
    if len(data) < 2:
        return
    end, body = ENDS[data[0] % len(ENDS)], data[1:]
    path = FOLDER / f"scores{end}"
    path.write_bytes(log(body) if end == ".eval" and data[0] > 127 else body)
    try:
        if end == ".cal":
            load_calibrator(path)
        else:
            rows.MOST_TASKS = 4 if data[0] > 191 else 100_000  # hashed units too
            read_panel(path)
    except PolyjudgeError:
        pass
    except Exception as error:
        FOUND.mkdir(exist_ok=True)
        kept = FOUND / f"{type(error).__name__}-{abs(hash(data)) % 10**8}{end}"
        kept.write_bytes(path.read_bytes())
        print(f"\n{type(error).__name__}: {error}\nkept as {kept}", file=sys.stderr)
        raise


def log(body: bytes) -> bytes:
    """A log of Inspect whose one sample is these bytes: what is inside a zip is hard to guess."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as book:
        about = {"task": "t", "model": "m", "created": "2026-01-01", "task_id": "x"}
        book.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": about}))
        book.writestr("samples/1_epoch_1.json", body)
    return made.getvalue()


def seeds(folder: Path) -> None:
    """Whole files to begin with."""
    frame = sample_panel().to_frame()[:120]
    sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": {"a": 3, "b": 4}}}, "metadata": {"language": "en"}}
    wide = frame.pivot_table(index=["task", "system", "language"], columns="judge", values="score").reset_index()
    texts = {
        0: frame.to_csv(index=False), 1: frame.to_csv(index=False, sep="\t"), 2: frame.to_json(orient="records"),
        3: frame.to_json(orient="records", lines=True), 11: wide.to_csv(index=False), 140: json.dumps(sample),
    }  # fmt: skip
    for first, text in texts.items():
        assert first != 140 or ENDS[first % len(ENDS)] == ".eval"
        (folder / f"seed-{first}").write_bytes(bytes([first]) + text.encode())
    made = Path(tempfile.mkdtemp()) / "cal.json"
    from polyjudge.calibrate.consensus import ConsensusCalibrator

    ConsensusCalibrator().fit(sample_panel()).save(made)
    (folder / "seed-cal").write_bytes(bytes([ENDS.index(".cal")]) + made.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    seeds(corpus)
    flags = [
        f"-max_total_time={asked.seconds}",
        f"-seed={asked.seed}",
        "-max_len=20000",
        "-timeout=30",
        "-rss_limit_mb=3000",
    ]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
