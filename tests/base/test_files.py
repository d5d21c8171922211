"""Files and folders: whole or not at all, and never what is not ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.files import (
    MARKER,
    atomic_path,
    check_apart,
    check_new,
    new_folder,
    read_json,
    read_text,
    write_text,
)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), atomic_path(path) as part:  # noqa: PT012
        part.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_stays_a_link_and_the_mode_stays(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600


def test_folders_are_replaced_only_where_they_are_ours(tmp_path: Path) -> None:
    place = tmp_path / "out"
    for text in ("one", "two"):
        with new_folder(place, "audit") as folder:
            (folder / "x").write_text(text)
    assert (place / "x").read_text() == "two"
    assert sorted(os.listdir(tmp_path)) == ["out"]
    with pytest.raises(UsageError, match="polyjudge audit"), new_folder(place, "drift"):
        pass
    (place / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"notes\.txt"), new_folder(place, "audit", overwrite=True):
        pass
    assert (place / "notes.txt").read_text() == "mine"
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years")
    for overwrite in (False, True):
        with (
            pytest.raises(UsageError, match="not written by polyjudge"),
            new_folder(foreign, "audit", overwrite=overwrite),
        ):
            pass
    assert (foreign / "thesis.txt").read_text() == "years"


def test_a_failed_run_leaves_the_old_folder(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with new_folder(place, "audit") as folder:
        (folder / "x").write_text("old")
    with pytest.raises(ZeroDivisionError), new_folder(place, "audit"):
        raise ZeroDivisionError
    assert (place / "x").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out"]


def test_what_a_killed_run_left_is_cleaned_at_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".out.abc.part"
    left.mkdir()
    (left / MARKER).write_text('{"format": "polyjudge-folder", "maker": "audit", "files": []}')
    other = tmp_path / ".out.thesis.part"
    other.mkdir()
    (other / "thesis").write_text("years")
    with new_folder(tmp_path / "out", "audit"):
        pass
    assert not left.exists()
    assert (other / "thesis").exists()


def test_outputs_are_never_inputs(tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("x")
    (tmp_path / "hard").hardlink_to(scores)
    for place in (scores, tmp_path, tmp_path / "." / "scores.csv", tmp_path / "hard"):
        with pytest.raises(UsageError, match="replace the input"):
            check_apart({"-o": place}, [scores])
    with pytest.raises(UsageError, match="same path"):
        check_apart({"-o": tmp_path / "a", "--save": tmp_path / "a"}, [scores])
    check_apart({"-o": tmp_path / "a", "--save": None}, [scores, "postgres://x/y"])


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    theirs.write_text('{"a": 1}')
    ours.write_text('{"polyjudge": "3.0", "a": 1}')
    check_new(ours)
    check_new(theirs, overwrite=True)
    check_new(tmp_path / "new")
    with pytest.raises(UsageError, match="--overwrite"):
        check_new(theirs)
    for bad in (tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="not replaced"):
            check_new(bad, overwrite=True)


@pytest.mark.parametrize(
    ("data", "match"),
    [(b"\xff\xff\xff", "UTF-8"), (b"{", "not JSON"), (b"[" * 100_000, "not JSON")],
)
def test_broken_files_are_named(tmp_path: Path, data: bytes, match: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(PanelError, match=match):
        read_json(path)


def test_text_with_marks(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for coding in ("utf-8-sig", "utf-16"):
        path.write_text("é", encoding=coding)
        assert read_text(path) == "é"
    with pytest.raises(PanelError, match="does not exist"):
        read_text(tmp_path / "gone")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write"):
        write_text(tmp_path / "no" / "such" / "folder", "x")
