"""The tools of the build: an audit that fails when it should, a bill of materials that names what is pinned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from audit import audit
from mutate import sample
from sbom import sbom

from polyjudge.second.rooms import QUESTIONS
from refusals import lacks, refused

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        ({"dependencies": [{"name": "a", "version": "1", "vulns": []}]}, 0, "0 known"),
        ({"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1"}]}]}, 1, "CVE-1"),
        (
            {"dependencies": [{"name": "a", "skip_reason": "no"}, {"name": "b", "version": "1", "vulns": []}]},
            0,
            "could not be checked: a",
        ),
        ({"dependencies": [{"name": "a", "skip_reason": "unknown here"}]}, 0, "could not run"),
        ({"dependencies": []}, 0, "could not run"),
        ("no network", 0, "could not run"),
        ({"other": 1}, 0, "could not run"),
    ],
)
def test_the_audit_fails_when_something_is_found_and_says_when_it_did_not_run(
    answer: object, code: int, word: str
) -> None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    found = audit("x", [sys.executable, "-c", f"print({text!r})"])
    assert found[0] == code
    assert word in found[1]
    assert audit("x", ["/no/such/program"])[0] == 0


def test_the_bill_of_materials_names_every_pinned_package() -> None:
    text = (ROOT / "requirements" / "run.txt").read_text()
    bill = sbom(text, "1.0")
    assert bill["bomFormat"] == "CycloneDX"
    assert len(bill["components"]) == sum(not line.startswith((" ", "#")) for line in text.splitlines() if line)
    names = {c["name"]: c for c in bill["components"]}
    assert names["numpy"]["purl"].startswith("pkg:pypi/numpy@")
    assert all(c["properties"] for c in bill["components"])


def test_every_question_can_be_altered_and_the_copy_is_python() -> None:
    for question in QUESTIONS:
        (mutant,) = sample(question, 1, 3)
        text = (ROOT / "src" / "polyjudge" / mutant.file).read_bytes()
        assert mutant.applied(text) != text
        compile(mutant.applied(text), str(mutant.file), "exec")
        assert sample(question, 1, 3) == [mutant]


ALTERED = """
import shutil, sys
from pathlib import Path
from mutate import PACKAGE, Tested, mutants
sign = [m for m in mutants(Path("panel/numbers.py")) if m.old == "100 * share"][-1]
shutil.copytree(PACKAGE, Path(sys.argv[1]) / "polyjudge")
print(*(Tested([test], Path(sys.argv[1])).survives(sign) for test in sys.argv[2:]))
"""


def test_an_alteration_is_noticed_by_a_test_of_it_alone(tmp_path: Path) -> None:
    good, blind, copy = tmp_path / "test_good.py", tmp_path / "test_blind.py", tmp_path / "copy"
    text = "from polyjudge.second.panel.numbers import percent\ndef test_it(): assert percent(0.613) == '61%'\n"
    good.write_text(text)
    blind.write_text(text.replace("percent(0.613) == '61%'", "True"))
    command = [sys.executable, "-c", ALTERED, copy, good, blind]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_a_refusal_must_name_its_data_as_words_of_their_own() -> None:
    text = "/tmp/test_42/s.csv, line 17: 2.5 in --judges, not 3."
    assert not lacks(text, "S.csv", 17, 2.5, "--judges", 3)
    assert lacks(text, 42, 7, 2, 5, "--judge", "tmp") == ["42", "7", "2", "5", "--judge", "tmp"]
    with refused(KeyError, "x"):
        raise KeyError("x")
    for kind, act in ((KeyError, lambda: {}["y"]), (LookupError, lambda: {}["x"]), (KeyError, lambda: None)):
        with pytest.raises((AssertionError, KeyError)), refused(kind, "x"):
            act()
