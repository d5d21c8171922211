"""Fuzz the store of a run: a real one with bytes overwritten or cut."""

import shutil
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    import polyjudge as pj
    from polyjudge.collect.store import FILE, create_store, open_store, write_meta
    from polyjudge.collect.summary import read_summary

import damage
from harness import fuzz

FOLDER = Path(tempfile.mkdtemp())
(FOLDER / "real").mkdir()
con = create_store(FOLDER / "real")
with con:
    write_meta(con, "plan", {"name": "small", "languages": ["en"], "judges": [{"name": "a"}]})
con.close()
REAL = (FOLDER / "real" / FILE).read_bytes()


def target(data: atheris.FuzzedDataProvider) -> None:
    run = FOLDER / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    (run / FILE).write_bytes(damage.of_bytes(data, REAL))
    if data.ConsumeBool():
        open_store(run).close()
    elif data.ConsumeBool():
        read_summary(run)
    else:
        pj.read_panel(run)


fuzz(target, (pj.PolyjudgeError,))
