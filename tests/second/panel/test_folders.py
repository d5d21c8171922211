"""Folders of ours: whole or untouched whatever fails, and nothing of anybody else is ever removed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from faulty_writer import NEW, OLD, write
from polyjudge.second.panel import files
from polyjudge.second.panel.errors import UsageError
from polyjudge.second.panel.files import MARKER, atomic_path, check_apart, check_folder, new_folder
from refusals import refused


def content(path: Path) -> dict[str, str]:
    return {p.relative_to(path).as_posix(): p.read_text() for p in path.rglob("*") if p.is_file() and p.name != MARKER}


def test_a_folder_of_ours_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path / "out", OLD)
    assert content(tmp_path / "out") == OLD
    write(tmp_path / "out", NEW)
    assert content(tmp_path / "out") == NEW
    assert os.listdir(tmp_path) == ["out"]


def test_a_new_folder_honours_the_umask_and_keeps_an_old_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "out", OLD)
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750
    (tmp_path / "out").chmod(0o700)
    write(tmp_path / "out", NEW)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["scores.parquet", "key", "x.crc", ".git/config", "deep/er/table.csv", MARKER])
def test_a_folder_of_others_is_refused_by_what_is_in_it(tmp_path: Path, name: str) -> None:
    target = tmp_path / "out" / name
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    for overwrite in (False, True):
        with refused(UsageError, "out", name.split("/")[0]):
            write(tmp_path / "out", NEW, overwrite=overwrite)
    assert target.read_text() == "mine"
    assert os.listdir(tmp_path) == ["out"]


def test_others_in_a_folder_of_ours_are_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    (out / "notes").mkdir()
    (out / "notes" / "mine.txt").write_text("mine")
    (out / "empty").mkdir()
    (out / "link").symlink_to("nowhere")
    with refused(UsageError, "empty, link, notes/mine.txt", "--overwrite"):
        write(out, NEW)
    assert content(out) == {**OLD, "notes/mine.txt": "mine"}
    inode = (out / "notes" / "mine.txt").stat().st_ino
    write(out, NEW, overwrite=True)
    assert content(out) == {**NEW, "notes/mine.txt": "mine"}
    assert (out / "notes" / "mine.txt").stat().st_ino == inode
    assert (out / "empty").is_dir()
    assert os.readlink(out / "link") == "nowhere"
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_of_many_megabytes_that_was_changed_in_its_middle_is_not_ours(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, {"table.parquet": "x" * 4_000_000})
    with (out / "table.parquet").open("r+b") as file:
        file.seek(2_000_000)
        file.write(b"mine")
    with refused(UsageError, "table.parquet"):
        write(out, NEW)


def test_what_only_its_owner_may_read_stays_so(tmp_path: Path) -> None:
    write(tmp_path / "out", OLD)
    (tmp_path / "out" / "report.html").chmod(0o600)
    write(tmp_path / "out", NEW)
    assert (tmp_path / "out" / "report.html").stat().st_mode & 0o777 == 0o600
    (tmp_path / "cal.json").write_text("{}")
    (tmp_path / "cal.json").chmod(0o600)
    with atomic_path(tmp_path / "cal.json") as part:
        part.write_text("new")
    assert (tmp_path / "cal.json").read_text() == "new"
    assert (tmp_path / "cal.json").stat().st_mode & 0o777 == 0o600


def test_a_changed_file_of_ours_is_not_ours_any_more(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, OLD)
    (out / "report.html").write_text("edited by hand")
    for overwrite in (False, True):
        with refused(UsageError, "report.html"):
            write(out, NEW, overwrite=overwrite)
    assert (out / "report.html").read_text() == "edited by hand"


def test_the_result_of_another_command_is_replaced_only_when_asked(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out", "gate") as folder:
        (folder / "gate.json").write_text("{}")
    with refused(UsageError, "gate", "--overwrite"):
        write(tmp_path / "out", NEW)
    write(tmp_path / "out", NEW, overwrite=True)
    assert content(tmp_path / "out") == NEW


def test_a_file_that_comes_at_the_last_moment_moves_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, real = tmp_path / "out", files._swap
    write(out, OLD)

    def late(part: Path, path: Path, old: Path) -> Path:
        (path / "late.txt").write_text("mine")
        return real(part, path, old)

    monkeypatch.setattr(files, "_swap", late)
    write(out, NEW)
    assert content(out) == {**NEW, "late.txt": "mine"}


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", OLD)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", NEW)
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "real") == NEW


def test_the_folder_one_works_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refused(UsageError, tmp_path.name, "inside"):
        check_folder(".", "audit")


@pytest.mark.skipif(os.name == "nt", reason="POSIX devices")
@pytest.mark.parametrize("kind", ["fifo", "null", "folder"])
def test_devices_pipes_and_folders_are_never_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "null":
        path.symlink_to("/dev/null")
    else:
        path.mkdir()
    with refused(UsageError, "place", "folder" if kind == "folder" else "device"), atomic_path(path):
        pass
    assert os.listdir(tmp_path) == ["place"]


# --- faults at every step ---


@pytest.fixture(scope="module")
def run_faulty() -> Iterator[Callable[..., tuple[int, str, int]]]:
    """`faulty_writer.run_faulty` in a small process: to fork this one, with all that tests have loaded, takes long."""
    import faulty_writer

    command = [sys.executable, faulty_writer.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as helper:
        assert helper.stdin is not None
        assert helper.stdout is not None

        def run(target: Path, *fault: object) -> tuple[int, str, int]:
            helper.stdin.write(json.dumps([str(target), *fault]) + "\n")  # type: ignore[union-attr]
            helper.stdin.flush()  # type: ignore[union-attr]
            code, said, steps = json.loads(helper.stdout.readline())  # type: ignore[union-attr]
            return code, said, steps

        yield run
        helper.stdin.close()


@pytest.fixture(params=["error", "interrupt", "kill"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("stranger", "exchange"), [(False, True), (True, True), (False, False)])
def test_a_fault_at_any_step_leaves_the_old_or_the_new(
    tmp_path: Path, kind: str, stranger: bool, exchange: bool, run_faulty: Callable[..., tuple[int, str, int]]
) -> None:
    """Every call of the system fails once: what is there is the old folder or the new one, and the message is true.

    Where the disk cannot exchange two folders, a kill between two renames is the one exception: the next run restores.
    """
    mine = {"mine/notes.txt": "mine"} if stranger else {}

    def prepare(target: Path) -> None:
        write(target, OLD)
        if stranger:
            (target / "mine").mkdir()
            (target / "mine" / "notes.txt").write_text("mine")

    prepare(tmp_path / "whole" / "out")
    code, _, steps = run_faulty(tmp_path / "whole" / "out", "error", 0, stranger, exchange)
    assert code == 0
    assert steps > 10
    for at in range(1, steps + 1):
        target = tmp_path / str(at) / "out"
        prepare(target)
        code, said, _ = run_faulty(target, kind, at, stranger, exchange)
        if kind == "kill" and not exchange:
            check_folder(target, "audit", overwrite=True)
        assert target.exists(), (at, code, said)
        found = content(target)
        assert found in ({**OLD, **mine}, {**NEW, **mine}), (at, code, said)
        if "Nothing was changed" in said:
            assert found == {**OLD, **mine}, (at, said)
        if code == 0 or "was written" in said:
            assert found == {**NEW, **mine}, (at, said)
        if kind == "error":
            assert code in (0, 2), (at, said)


# --- outputs against inputs ---


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "scores.csv"
    path.write_text("task,language,judge,score\n")
    return path


def same_names(scores: Path) -> dict[str, tuple[Path, str]]:
    """The scores by other names: as an output, and as what is read."""
    root = scores.parent.parent
    (root / "link.csv").symlink_to(scores)
    os.link(scores, root / "hard.csv")
    (root / "linked").symlink_to(scores.parent)
    return {
        "itself": (scores, str(scores)),
        "symbolic link": (root / "link.csv", str(scores)),
        "input is a link": (scores, str(root / "link.csv")),
        "hard link": (root / "hard.csv", str(scores)),
        "dots": (scores.parent / ".." / "data" / "scores.csv", str(scores)),
        "linked folder": (root / "linked" / "scores.csv", str(scores)),
        "pattern": (scores, str(scores.parent / "*.csv")),
        "table": (scores, f"{scores}::t"),
        "address": (scores, f"sqlite://{scores}::t"),
        "folder": (scores.parent, str(scores)),
        "folder above": (root, str(scores)),
    }


@pytest.mark.parametrize(
    "case",
    ["itself", "symbolic link", "input is a link", "hard link", "dots", "linked folder", "pattern", "table", "address",
     "folder", "folder above"],
)  # fmt: skip
def test_an_output_is_never_an_input(scores: Path, case: str) -> None:
    output, source = same_names(scores)[case]
    with refused(UsageError, "-o", output.name):
        check_apart({"-o": output}, [source])
    check_apart({"-o": scores.parent / "other.csv"}, [source])


def test_two_outputs_are_two_places(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("cal.json")
    with refused(UsageError, "-o", "--save", "link"):
        check_apart({"-o": tmp_path / "cal.json", "--save": tmp_path / "link"}, [])
