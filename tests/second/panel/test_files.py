"""Writing files: the old content or the new, whole, whatever happens in between."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import atomic_path, atomic_write, check_ordinary, spreadsheet_safe
from refusals import lacks, refused


def test_the_file_appears_when_the_block_ends_well(tmp_path: Path) -> None:
    target = tmp_path / "new" / "out.txt"
    with atomic_write(target) as file:
        file.write("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert os.listdir(target.parent) == ["out.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask


def test_an_error_inside_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")

    def fail_halfway() -> None:
        with atomic_write(target) as file:
            file.write("half")
            raise KeyError("something")

    with pytest.raises(KeyError):
        fail_halfway()
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused(UsageError, "out.txt", "File exists"), atomic_path(tmp_path / "file" / "out.txt"):
        pass


def test_a_read_only_folder_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    tmp_path.chmod(0o755)
    folder.chmod(0o555)
    code = f"""
import os, sys
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import atomic_write
if os.getuid() == 0:
    os.setuid(65534)
try:
    with atomic_write({str(folder / "out.txt")!r}) as file:
        file.write("x")
except UsageError as error:
    print(error)
    sys.exit(7)
"""
    for parent in [*tmp_path.parents][:3]:
        if parent.stat().st_uid == os.getuid() and str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert "Permission denied" in done.stdout


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    code = f"""
import sys
from polyjudge.second.panel.errors import PanelError, UsageError
from polyjudge.second.panel.files import atomic_write
try:
    with atomic_write({str(target)!r}) as file:
        file.write("x" * 1_000_000)
except UsageError as error:
    print(error)
    sys.exit(7)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, preexec_fn=small_disk
    )
    assert done.returncode == 7, done.stderr
    assert not lacks(done.stdout, target.name)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    """SIGKILL at random moments while a file is written over and over: what is there can always be read."""
    code = f"""
import json, os, random, signal, time
from polyjudge.second.panel.files import atomic_write
target = {str(tmp_path / "cal.json")!r}
rows = lambda value: [[value] * 100] * 300
moments = random.Random(1)
for _ in range(20):
    ready, writes = os.pipe()
    child = os.fork()
    while child == 0:
        for value in range(2):
            with atomic_write(target) as file:
                json.dump({{"value": value, "rows": rows(value)}}, file)
            os.write(writes, b"x")
    os.read(ready, 1)
    time.sleep(moments.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    data = json.load(open(target))
    assert data["rows"] == rows(data["value"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_made_harmless(text: str) -> None:
    assert spreadsheet_safe(text) == "'" + text


def test_other_values_stay() -> None:
    assert spreadsheet_safe("a=b") == "a=b"
    assert spreadsheet_safe(-2.5) == -2.5
    assert spreadsheet_safe(None) is None


@pytest.mark.parametrize(("name", "said"), [("ITEMS", "stands for a file of yours"), ("items.jsonl", "Check the path")])
def test_a_word_of_the_help_is_told_from_a_wrong_path(name: str, said: str) -> None:
    with refused(PanelError, name, said):
        check_ordinary(name)
