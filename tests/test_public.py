"""The public surface: names, types as an editor sees them, and how light an import is."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import polyjudge as pj

NAMES = {
    "read_panel", "Panel", "check", "simulate_panel", "sample_panel", "PolyjudgeError", "audit", "compare", "drift",
    "swap", "plan", "probe", "humans", "draw_labels", "read_labels", "ConsensusCalibrator", "LabelCalibrator",
    "load_calibrator",
}  # fmt: skip


def test_the_names_and_each_has_a_docstring() -> None:
    assert set(pj.__all__) - {"__version__"} == NAMES
    for name in NAMES:
        assert inspect.getdoc(getattr(pj, name)), name
    with pytest.raises(AttributeError, match="no_such_name"):
        pj.no_such_name  # noqa: B018


def test_a_panel_completes_what_means_something_to_a_user() -> None:
    shown = [x for x in dir(pj.sample_panel()) if not x.startswith("_")]
    assert len(shown) <= 20
    assert {"scores", "tasks", "to_frame", "select"} <= set(shown)


def test_an_import_is_light() -> None:
    code = "import sys, polyjudge; print([m for m in ('numpy', 'pandas', 'duckdb', 'typer') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["check", "audit"])
def test_a_first_screen_makes_no_frames(tmp_path: Path, command: str) -> None:
    pj.sample_panel().to_frame().to_csv(tmp_path / "scores.csv", index=False)
    code = f"""import sys, polyjudge.cli
sys.argv = ["polyjudge", "{command}", "scores.csv"]
try:
    polyjudge.cli.main()
finally:
    print("pandas" in sys.modules, file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "60 tasks x 4 systems" in done.stdout
    assert done.stderr.strip() == "False"


@pytest.mark.slow
@pytest.mark.newest
def test_types_are_seen_from_outside(tmp_path: Path) -> None:
    client = tmp_path / "client.py"
    client.write_text(
        "import polyjudge as pj\n"
        "panel = pj.read_panel('scores.csv', judge='model')\n"
        "result = pj.audit(panel, matters=2.0)\n"
        "frame = result.off\n"
        "reveal_type(frame)\n"
        "reveal_type(panel)\n"
        "pj.audit(panel, no_such_argument=1)\n"
    )
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "c"), client]
    out = subprocess.run(mypy, capture_output=True, text=True, timeout=250, cwd=tmp_path).stdout
    assert 'Revealed type is "pandas' in out
    assert "polyjudge.panel.Panel" in out
    assert 'Unexpected keyword argument "no_such_argument"' in out
    assert out.count("error:") == 1, out
