"""0 fine, 1 a finding, 2 bad input, 3 an internal error, 130 an interrupt; each says why in one paragraph."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import polyjudge.second as pj

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    panel, _ = pj.simulate_panel(tasks=6, languages=["en", "de"], judges=["a", "b"], seed=1)
    panel.to_long().to_csv(path, index=False)
    return path


def heed_interrupts() -> None:
    """Tests that run in the background would hand down that interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*args: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, *options.pop("flags", []), "-m", "polyjudge", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, preexec_fn=heed_interrupts, **{**pipes, **options})


def test_an_internal_error_is_3_and_asks_for_a_report(cli: Run, scores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise TypeError("postgres://me:hunter2@host \x1b[31m")

    monkeypatch.setattr("polyjudge.second.read.read_panel", broken)
    done = cli("compare", scores)
    assert done.returncode == 3
    assert "TypeError" in done.stderr
    assert "--debug" in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr
    assert "\x1b" not in done.stderr
    for place in (("--debug", "compare", scores), ("compare", scores, "--debug")):
        done = cli(*place)
        assert done.returncode == 3
        assert "Traceback" in done.stderr


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "behind an error"])
def test_an_interrupt_is_130(cli: Run, scores: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool) -> None:
    def interrupted(*args: object, **options: object) -> None:
        if not hidden:
            raise KeyboardInterrupt
        raise TypeError("Cannot compare") from KeyboardInterrupt()  # as NumPy does in the midst of a comparison

    monkeypatch.setattr("polyjudge.second.read.read_panel", interrupted)
    done = cli("compare", scores)
    assert done.returncode == 130
    assert done.stderr.endswith("polyjudge: interrupted.\n")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_termination_that_the_engine_calls_an_interrupt_is_143(
    cli: Run, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threading.current_thread() is threading.main_thread()  # elsewhere the signal would end the tests

    def swallowed(*args: object, **options: object) -> None:
        with suppress(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        raise KeyboardInterrupt

    monkeypatch.setattr("polyjudge.second.read.read_panel", swallowed)
    done = cli("compare", scores)
    assert (done.returncode, done.stderr) == (143, "")


def test_an_interrupt_is_heard_while_the_command_loads() -> None:
    code = """import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from polyjudge.__main__ import main
main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
def test_the_bar_names_the_analysis_and_an_interrupt_leaves_the_terminal_as_it_was(
    scores: Path, tmp_path: Path
) -> None:
    import pty

    out = tmp_path / "there" / "audit"
    out.parent.mkdir()
    process, terminal = pty.fork()
    if process == 0:
        heed_interrupts()
        command = [sys.executable, "-m", "polyjudge", "audit", str(scores), "--resamples", "1000000", "-o", str(out)]
        os.execve(sys.executable, command, {**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    shown, interrupted = b"", False
    with suppress(OSError):  # what a terminal gives when its last program has ended
        while part := os.read(terminal, 65536):
            shown += part
            if not interrupted and b"signal" in shown:
                os.write(terminal, b"\x03")
                interrupted = True
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) in (130, -signal.SIGINT)
    assert interrupted
    assert b"polyjudge: interrupted." in shown
    assert b"Traceback" not in shown
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h")  # the cursor is there again
    assert list(out.parent.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_termination_waits_for_a_library_that_is_being_loaded(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library in another language that is left in the midst of it prints a traceback of its own."""
    loads = "import os, pathlib, signal\nos.kill(os.getpid(), signal.SIGTERM)\npathlib.Path(%r).touch()\n"
    (tmp_path / "loads_slowly.py").write_text(loads % str(tmp_path / "whole"))
    monkeypatch.syspath_prepend(tmp_path)

    def load(*_: object, **__: object) -> None:
        importlib.import_module("loads_slowly")
        time.sleep(60)

    monkeypatch.setattr("polyjudge.second.cli._run", load)
    done = cli("check", "scores.csv")
    assert (done.returncode, done.stderr) == (143, "")
    assert (tmp_path / "whole").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_inside_a_query_cleans_up(tmp_path: Path, number: int, code: int) -> None:
    import duckdb

    con = duckdb.connect(str(tmp_path / "x.duckdb"))
    con.execute(
        "CREATE VIEW v AS SELECT a.range AS task, 'l' AS language, 'j' AS judge, b.range AS score "
        "FROM range(10000000) a, range(1000000) b WHERE sin(a.range * b.range) > 2"
    )
    con.close()
    spill = tmp_path / "spill"
    spill.mkdir()
    environment = {**os.environ, "TMPDIR": str(spill)}
    with start("calibrate", tmp_path / "x.duckdb", "--save", tmp_path / "cal.json", env=environment) as process:
        until = time.monotonic() + 60
        while not os.listdir(spill) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert process.returncode == code, error
    assert "Traceback" not in error
    assert os.listdir(spill) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupted_audit_leaves_what_was_there(cli: Run, scores: Path, tmp_path: Path) -> None:
    """A million resamples take minutes. The test of the bar has the new folder."""
    out = tmp_path / "there" / "audit"
    out.parent.mkdir()
    assert cli("audit", scores, "--resamples", 100, "-o", out).returncode == 0
    held = {p.relative_to(tmp_path): p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    assert held
    code = "import sys, polyjudge.second.questions.audit.audit as a; from polyjudge.second.cli import main; run = a.audit\n"
    code += "a.audit = lambda *x, **y: (print('begun', file=sys.stderr, flush=True), run(*x, **y))[1]\nmain()"
    command = [sys.executable, "-c", code, "audit", scores, "--resamples", 1_000_000, "-o", out, "--overwrite"]
    with subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert {p.relative_to(tmp_path): p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()} == held


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
def test_closed_standard_output_is_no_finding(scores: Path) -> None:
    command = f"{sys.executable} -m polyjudge audit {scores} --resamples 100 >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX streams")
@pytest.mark.parametrize(
    ("tail", "codes"),
    [(">&- 2>&-", (0, 2)), (">/dev/full 2>/dev/full", (2,)), ("2>&- | true; exit ${PIPESTATUS[0]}", (2,))],
)
def test_outputs_that_cannot_be_written_have_one_of_our_codes(scores: Path, tail: str, codes: tuple[int, ...]) -> None:
    command = f"{sys.executable} -m polyjudge check {scores} {tail}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in codes, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_page_under_a_limit_of_the_address_space(scores: Path, tmp_path: Path) -> None:
    """The engine that draws would abort: pages are made without still pictures, and figures are refused."""
    audit = f"ulimit -v 6000000; {sys.executable} -m polyjudge audit {scores} --resamples 100 -o {tmp_path}/out"
    done = subprocess.run(["bash", "-c", audit], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["bash", "-c", f"{audit} --figures svg"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "ulimit" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_too_little_room_is_said(scores: Path) -> None:
    """OpenBLAS would end with 1, DuckDB with SIGSEGV."""
    for size in (700_000, 1_048_576):
        command = f"ulimit -v {size}; {sys.executable} -m polyjudge compare {scores}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 2, done.stderr
        assert "ulimit" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_termination_ends_a_program_whose_engine_waits_for_itself(tmp_path: Path) -> None:
    """As DuckDB may, while it writes Parquet: the program ends within seconds and leaves nothing half-written."""
    code = """
import ctypes, polyjudge.second.cli as cli
from polyjudge.second.panel.files import atomic_path
def stuck():
    with atomic_path("table.parquet") as part:
        part.write_text("half")
        print("begun", flush=True)
        lock = ctypes.create_string_buffer(128)
        for _ in range(2):
            ctypes.CDLL(None).pthread_mutex_lock(lock)
cli._run = stuck
cli.main()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        began = time.monotonic()
        process.terminate()
        assert process.wait(60) == 143
    assert time.monotonic() - began < 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX users")
def test_no_home_is_no_error(scores: Path, tmp_path: Path) -> None:
    """A user id that the system does not know, and no HOME: as in many containers."""
    code = f"""
import pwd, sys
def unknown(number):
    raise KeyError(number)
pwd.getpwuid = unknown
sys.argv = ["polyjudge", "audit", {str(scores)!r}, "--resamples", "100", "-o", {str(tmp_path / "report")!r}]
from polyjudge.second.cli import main
main()
"""
    gone = ("HOME", "XDG_CACHE_HOME", "POLYJUDGE_CACHE")
    environment = {k: v for k, v in os.environ.items() if k not in gone}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_optimised_python_works(scores: Path) -> None:
    with start("calibrate", scores, "--save", scores.with_suffix(".json"), flags=["-O"]) as process:
        _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    with start("calibrate", scores, "--save", scores.with_suffix(".json"), flags=["-OO"]) as process:
        _, error = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "PYTHONOPTIMIZE" in error


@pytest.mark.parametrize(
    "args",
    [
        ("audit", "\udcff.csv"),
        ("audit", "SCORES", "-o", "\udcff"),
        ("calibrate", "SCORES", "--save", "a\udc80.json"),
        ("audit", "a\0b.csv"),
        ("audit", "SCORES", "-o", "a\0b"),
        ("drift", "SCORES", "CAL"),
        ("audit", "SCORES", "--range", "0:1e308"),
        ("audit", "SCORES", "--range", "-1e300:1e300"),
        ("audit", "SCORES", "--range", "nan:1"),
        ("explain-nothing", "SCORES"),
        ("validate",),
        ("audit", "/**/*.no-such-ending"),
        ("calibrate", "SCORES", "--extend", "CAL", "--save", "new.json", "--target", "1e-320"),
        ("audit", "SCORES", "--no-such-option"),
        ("no-such-command",),
    ],
)
def test_bad_input_is_2(
    cli: Run, scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polyjudge.second.panel.files.matches.__defaults__", (0.05,))
    pj.ConsensusCalibrator().fit(pj.read_panel(scores, languages=["en", "de"])).save(tmp_path / "cal.json")
    done = cli(*({"SCORES": str(scores), "CAL": "cal.json"}.get(a, a) for a in args))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()
