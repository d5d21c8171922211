"""Fuzz the calibrator file: any bytes, and damaged copies of a real one."""

import copy
import json
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    import polyjudge as pj
    from polyjudge.calibrate.load import load_calibrator

from harness import fuzz

PANEL = pj.simulate_panel(5, 3, 3, seed=1)[0]
REAL = pj.ConsensusCalibrator().fit(PANEL).to_dict()
FOLDER = Path(tempfile.mkdtemp())
STRANGE = (None, True, -1, 10**400, 1e308, "NaN", "", "x" * 1000, [], {}, [[]], [None], "\ud800", "=cmd()")


def target(data: atheris.FuzzedDataProvider) -> None:
    path = FOLDER / "cal.json"
    if data.ConsumeBool():
        path.write_bytes(data.ConsumeBytes(4096))
    else:
        broken = json.loads(json.dumps(REAL))
        for _ in range(data.ConsumeIntInRange(1, 4)):
            key = data.PickValueInList(list(broken))
            choice = data.ConsumeIntInRange(0, 3)
            if choice == 0:
                del broken[key]
                if not broken:
                    break
            elif choice == 1:
                broken[key] = copy.deepcopy(data.PickValueInList(list(STRANGE)))
            elif choice == 2 and isinstance(broken[key], list) and broken[key]:
                place = data.ConsumeIntInRange(0, len(broken[key]) - 1)
                broken[key][place] = copy.deepcopy(data.PickValueInList(list(STRANGE)))
            else:
                broken[key] = data.ConsumeUnicode(20)
        path.write_text(json.dumps(broken), encoding="utf-8", errors="surrogatepass")
    calibrator = load_calibrator(path)
    calibrator.transform(PANEL)
    repr(calibrator)


fuzz(target, (pj.PolyjudgeError,))
