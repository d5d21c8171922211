"""The wheel: built from this checkout, installed into an empty environment, and used there as a new user would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from polyjudge.second.samples import sample_csv

ROOT = Path(__file__).parents[1]
LARGEST = 350 * 1024**2
"""Bytes that the wheels of a plain `pip install polyjudge` unpack to; Python's own caches are not counted."""
ABSENT = ("pyarrow", "ibis", "vl_convert", "inspect_ai", "pyspark", "python_calamine")
"""Packages of extras: nothing below may need them."""


def run(*command: object, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | more
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=280, cwd=cwd, env=env)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel, and links to what it asks for and to nothing else."""
    return installed(wheel, tmp_path_factory.mktemp("empty"))


def installed(wheel: Path, folder: Path, extra: str = "", beside: str = "") -> Path:
    """As `pip install polyjudge[extra]` in a new environment; its requirements (and a package beside it with its own)
    are links to those of this one."""
    venv.create(folder)
    python = folder / "bin" / "python"
    done = run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-compile", wheel)
    assert done.returncode == 0, done.stderr
    (site,) = (folder / "lib").glob("python*/site-packages")
    (own,) = site.glob("polyjudge-*.dist-info")
    wanted = _needed(Distribution.at(own), extra=extra)
    if beside:
        wanted |= {beside: distribution(beside)} | _needed(distribution(beside))
    for needed in wanted.values():
        for name in {file.parts[0] for file in needed.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (site / name).exists():
                (site / name).symlink_to(needed.locate_file(name))
    return python


def _needed(
    asking: Distribution, found: dict[str, Distribution] | None = None, extra: str = ""
) -> dict[str, Distribution]:
    """What `pip install` brings: the requirements (of an extra too), and theirs."""
    found = {} if found is None else found
    for line in asking.requires or ():
        wanted = Requirement(line)
        if wanted.name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": extra})):
            found[wanted.name] = distribution(wanted.name)
            _needed(found[wanted.name], found)
    return found


@pytest.mark.timeout(600)
def test_the_tutorial_runs_from_the_wheel_in_an_empty_folder(
    wheel: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Top to bottom, as a marimo notebook, in far less than the ten minutes that it takes to read."""
    python = installed(wheel, tmp_path_factory.mktemp("figures"), "figures", beside="marimo")
    convert = ("-m", "marimo", "-q", "convert", ROOT / "docs" / "tutorial.ipynb", "-o", "t.py")
    assert run(python, *convert, cwd=tmp_path).returncode == 0
    began = time.monotonic()
    done = run(python, "t.py", cwd=tmp_path, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr[-2000:]
    assert time.monotonic() - began < 240
    assert (tmp_path / "scores.csv").read_bytes() == sample_csv()  # its own first command wrote them
    assert (tmp_path / "audit.html").stat().st_size > 100_000
    parts = re.split(r"^# %%", (ROOT / "docs" / "tutorial.py").read_text("utf-8"), flags=re.M)
    words = " ".join(line for line in "\n".join(parts).splitlines() if line.startswith("#"))
    assert len(words.split()) < 10 * 200  # read at 200 words a minute


@pytest.mark.timeout(600)
def test_the_wheel_in_an_empty_environment(python: Path, tmp_path: Path) -> None:
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    every = [f for d in site.iterdir() for f in (d.resolve(), *d.resolve().rglob("*"))]
    bytes_ = sum(f.stat().st_size for f in every if f.is_file() and f.suffix != ".pyc")
    assert bytes_ <= LARGEST, f"{bytes_ / 1024**2:.0f} MB"
    stated = re.search(r"(\d+) MB of files and (\d+) MB of bytecode", (ROOT / "README.md").read_text("utf-8"))
    assert stated, "the README says what an installation takes"
    assert abs(bytes_ / 1e6 - int(stated[1])) < 10, f"{bytes_ / 1e6:.0f} MB"
    assert run(python, "-m", "polyjudge", "demo", "--write", "s.csv", cwd=tmp_path).returncode == 0
    checked = run(python, "-m", "polyjudge", "check", "s.csv", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["readable"], checked.stderr
    command = python.with_name("polyjudge")
    audited = run(command, "audit", "s.csv", "-o", "out", "--resamples", "100", cwd=tmp_path)
    assert audited.returncode == 0, audited.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "vegaEmbed" in page
    code = f"""if True:
        import importlib.util, json, polyjudge as pj
        absent = [name for name in {ABSENT!r} if importlib.util.find_spec(name) is None]
        panel = pj.sample_panel()
        frame = panel.to_frame()
        same = pj.read_panel(frame).shape == panel.shape
        print(json.dumps([pj.__file__, absent, same, pj.audit(frame, resamples=100)._repr_html_()]))"""
    done = run(python, "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    where, absent, same, shown = json.loads(done.stdout)
    assert where.startswith(str(site))  # the wheel, not this checkout
    assert absent == list(ABSENT)
    assert same
    assert "<table" in shown


@pytest.mark.timeout(600)
def test_what_extras_are_for_is_said(python: Path, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(sample_csv())
    (tmp_path / "s.xlsx").write_bytes(b"PK")
    commands = (
        ("check", "s.xlsx"),
        ("check", "postgresql://nobody@localhost/x::t"),
        ("audit", "s.csv", "-o", "out2", "--figures", "svg", "--resamples", "100"),
    )
    code = f"""if True:
        import sys
        from polyjudge.second.cli import main
        for sys.argv[1:] in {commands!r}:
            try:
                main()
            except SystemExit as end:
                print(end.code)"""
    done = run(python, "-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["2", "2", "2"], done.stderr
    said = done.stderr.splitlines()
    assert [re.findall(r"polyjudge\[(\w+)\]", line) for line in said] == [["excel"], ["warehouse"], ["figures"]]
