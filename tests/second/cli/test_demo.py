"""The embedded sample, the demo, and what every command line shares."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import polyjudge.second as pj
from polyjudge.second.cli.commands import COMMANDS
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.questions.audit import rank_reversals, uncertainty
from polyjudge.second.questions.compare.recovery import recovery
from polyjudge.second.report.schema import SCHEMA
from polyjudge.second.samples import make_sample, sample_csv, sample_truth
from refusals import lacks, refused

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_sample_is_what_its_code_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_sample, "FOLDER", tmp_path)
    make_sample.main()
    assert gzip.decompress((tmp_path / "scores.csv.gz").read_bytes()) == sample_csv()
    assert json.loads((tmp_path / "truth.json").read_text())[0]["language"] == "English"


def test_the_sample_panel_and_its_truth() -> None:
    panel = pj.sample_panel()
    assert panel.shape == (55, 8, 6)
    assert len(panel.replicates) == 3
    truth = sample_truth()
    assert tuple(truth.index) == panel.languages
    assert truth.to_numpy().sum() == pytest.approx(0, abs=1e-9)
    estimate = pj.ConsensusCalibrator().fit(panel).interaction_
    assert np.abs(estimate - truth).to_numpy().max() < 3
    assert rank_reversals(panel).count >= 5


def test_recovery_counts_hits_and_errors() -> None:
    panel, truth = pj.simulate_panel(seed=1)
    estimate = uncertainty(panel)
    right = recovery(estimate, truth.interaction)
    assert right.inside >= 40
    assert right.in_band
    wrong = recovery(estimate, truth.interaction + 100)
    assert wrong.inside == 0
    assert not wrong.in_band
    assert wrong.root_mean_square_error == pytest.approx(100, abs=2)
    with refused(UsageError, "labels"):
        recovery(estimate, pd.DataFrame(truth.interaction.to_numpy()))


def test_demo_ends_with_the_planted_truth(run_cli: Run) -> None:
    out = run_cli("demo")
    assert out.returncode == 0, out.stderr
    assert out.stderr == ""
    assert not lacks(out.stdout, "-20.55", "46 of 48")  # the largest planted cell, and those found
    assert "\x1b" not in out.stdout
    assert max(map(len, out.stdout.splitlines())) <= 100


def test_demo_json(cli: Run) -> None:
    out = cli("demo", "--json")
    data = json.loads(out.stdout)
    assert data["schema"] == SCHEMA
    assert data["recovery"]["in_band"] is True
    assert len(data["recovery"]["cells"]) == 48


def test_demo_writes_scores_that_audit_reads(cli: Run, tmp_path: Path) -> None:
    assert cli("demo", "--write", tmp_path / "scores.csv").returncode == 0
    assert pj.read_panel(tmp_path / "scores.csv").fingerprint == pj.sample_panel().fingerprint


def test_bad_usage_exits_with_2_and_no_traceback(cli: Run, tmp_path: Path) -> None:
    for args in (
        ["audit", tmp_path / "none.csv"],
        ["demo", "--seed", "-1"],
        ["nonsense"],
        ["demo", "--write", "/proc/x/y"],
    ):
        out = cli(*args)
        assert out.returncode == 2, args
        assert "Traceback" not in out.stderr
        assert out.stderr.strip()


def test_every_command_has_help_with_an_example(cli: Run) -> None:
    for command in COMMANDS:
        out = cli(command, "--help")
        assert out.returncode == 0
        assert "xample" in out.stdout, f"{command} --help shows no example"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, polyjudge.second.cli.commands as c, polyjudge.second.cli as p; c.register(p.app); "
        "sys.exit(any(m in sys.modules for m in ('numpy', 'pandas', 'ibis', 'altair')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_import_is_light() -> None:
    code = "import sys, polyjudge; sys.exit(any(m in sys.modules for m in ('numpy', 'pandas', 'ibis', 'altair')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_command_loads_what_it_uses_and_its_end_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_bytes(sample_csv())
    code = (
        "import sys, polyjudge.__main__ as p\ntry: p.main()\nexcept SystemExit: pass\n"
        "unused = 'numpy.f2py.crackfortran', 'numpy.testing._private', 'pyarrow', 'urllib.request'\n"
        "sys.exit(any(m in sys.modules for m in unused))"
    )
    command = [sys.executable, "-c", code, "audit", str(tmp_path / "scores.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    later = "import polyjudge.__main__ as p, sys; sys.meta_path.insert(0, p.Sparing)\nimport scipy.special, numpy as np"
    assert (
        subprocess.run(
            [sys.executable, "-c", f"{later}\nnp.testing.assert_equal(np.f2py.__name__, 'numpy.f2py')"], check=False
        ).returncode
        == 0
    )
