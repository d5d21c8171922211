"""Fuzz Inspect logs: a small real one as JSON with fields changed, and as an archive with bytes overwritten."""

import json
import tempfile
import zipfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    import polyjudge as pj

import damage
from harness import fuzz

FOLDER = Path(tempfile.mkdtemp())
EVAL = {
    "created": "2026-01-01T00:00:00+00:00",
    "task": "t",
    "dataset": {},
    "model": "m",
    "config": {},
    "eval_id": "e",
    "run_id": "r",
    "task_id": "t",
    "metadata": {"language": "en"},
}
SAMPLES = [
    {
        "id": task,
        "epoch": 1,
        "input": "x",
        "target": "y",
        "scores": {"s": {"value": task + judge}},
        "metadata": {"language": language, "judge": f"j{judge}"},
    }
    for task in range(3)
    for language in ("en", "de")
    for judge in range(2)
]
LOG = {"version": 2, "status": "success", "eval": EVAL, "samples": SAMPLES}
with zipfile.ZipFile(FOLDER / "real.eval", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("header.json", json.dumps({k: v for k, v in LOG.items() if k != "samples"}))
    for place, sample in enumerate(SAMPLES):
        archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
ARCHIVE = (FOLDER / "real.eval").read_bytes()


def target(data: atheris.FuzzedDataProvider) -> None:
    if data.ConsumeBool():
        path = FOLDER / "log.json"
        path.write_text(json.dumps(damage.of_data(data, LOG)), encoding="utf-8", errors="surrogatepass")
    else:
        path = FOLDER / "log.eval"
        path.write_bytes(damage.of_bytes(data, ARCHIVE))
    pj.read_panel(path)


fuzz(target, (pj.PolyjudgeError,))
