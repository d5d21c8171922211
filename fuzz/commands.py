"""Every command in a process of its own, and what may never come of it: for hostile.py and tests/test_security.py."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import select
import signal
import stat
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from harmless import UNSEEN, found_in
from polyjudge import cli
from polyjudge.read import rows

ODD = (
    "nan", "inf", "-inf", "-1", "0", "1", "2", "0.5", "1e308", "1e-320", "\u0661", "0x10", "--", "-", "\x1b[2J", "=",
    "%s", "a=b", ",", "0:100", "100:0", ":", "nan:nan", "1:1e999", "*", "[", "true", "\u202eowned", "", " ", "9" * 400,
    "x" * 70_000, ">=", ">=3", "German,Aster"
)  # fmt: skip
"""Values of options."""
PLANS = (
    "a: &a [x]\n" + "".join(f"a{i}: &a{i} [{','.join(['*a'] * 9)}]\n" for i in range(9)), "[" * 50_000, "&a [*a]",
    "a: !!python/object/apply:os.system ['touch owned']", "? " * 20_000, "judges: 3", "{}"
)  # fmt: skip
"""Plans that are none."""
NAMES = """check S --judge COLUMN|audit S --judge COLUMN --full -o O/audit --junit O/audit.xml|audit TEXT|TEXT
audit S --judge COLUMN --cell CELL --threshold 50 --json|calibrate S --judge COLUMN -o O/c.csv --save O/cal.json
audit S --judge COLUMN --without CELL|apply S O/cal.json --judge COLUMN -o O/c2.jsonl|audit S::TEXT
check S --task TEXT|compare S --judge COLUMN --replicates 50 -o O/compare|humans S LABELS --judge COLUMN -o O/humans
collect PLAN --dry-run|label make S --judge COLUMN --items ITEMS -n 3 --rubric TEXT -o O/labels
label read O/labels -o O/labels.csv|humans S O/labels --judge COLUMN|drift S S --judge COLUMN -o O/drift
swap S --judges JUDGE=A --judge COLUMN -o O/swap|plan S --judge COLUMN --separate 5|probe S --judge COLUMN
paper report S --judge COLUMN --replicates 100 -o O/paper|drift O/cal.json S --judge COLUMN --json"""
DAMAGED = """T check T|T check T|T audit T|T calibrate T -o X.csv|S audit S|S paper report S --replicates 100
CAL drift CAL S|CAL apply S CAL -o X.csv|CAL calibrate S --extend CAL --save X|LABELS humans S LABELS
FOLDER label read FOLDER|FOLDER humans S FOLDER|PLAN collect PLAN --dry-run|ITEMS collect PLAN --dry-run
ITEMS label make S --items ITEMS -o X|WEIGHTS audit S --weights WEIGHTS"""
PLACES = """audit S -o T|calibrate S -o T|calibrate S --save T|audit S --junit T|demo --write T
label make S --items ITEMS -n 3 -o T|check T|apply S CAL -o T|audit T|humans S T|drift S T|audit S|label read T
collect T --dry-run|demo -o T|label read FOLDER -o T|calibrate S --extend T|paper report S --replicates 100 -o T"""
WRITERS = """audit S -o T|calibrate S -o T/c.csv --save T/cal.json --overwrite|paper report S --replicates 100 -o T
demo --write T/s.csv --overwrite|label make S --items ITEMS -n 3 -o T --overwrite"""
"""Commands whose words in capitals stand for files and names; of DAMAGED the first is what is damaged."""


def hard_places(folder: Path, scores: str) -> list[str]:
    """Where nothing may be written, or not without care."""
    (folder / "mine").mkdir()
    for name in ("mine/thesis.txt", "mine.txt"):
        (folder / name).write_text("mine")
    for link, to in (("link.csv", scores), ("gone.csv", "no/x.csv"), ("linked", "mine")):
        (folder / link).symlink_to(to)
    os.link(scores, folder / "hard.csv")
    os.mkfifo(folder / "fifo")
    with suppress(PermissionError):  # a device of our own: what is tried here may go wrong
        os.mknod(folder / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return [scores, "mine", "mine.txt", "link.csv", "gone.csv", "linked", "hard.csv", "fifo", "device", ".", "mine/..",
            "has/../mine.txt", "", "x" * 300, "mine.txt/x", "/proc/x", "new\nline.csv"]  # fmt: skip


def fill(labels: Path) -> None:
    """What annotators send back."""
    held = json.loads((labels / "manifest.json").read_text())
    for i, who in enumerate(sorted({x["annotator"] for x in held["shown"].values()})):
        answers = [{"item": t, "label": 50, "skip": None} for t, x in held["shown"].items() if x["annotator"] == who]
        made = {"format": "polyjudge-answers", "labels": held["id"], "name": who, "answers": answers}
        (labels / f"answers{i}.json").write_text(json.dumps(made))


def stamp(path: Path) -> Any:
    """What a file or folder is: content, mode, target of a link."""
    if path.is_symlink():
        return os.readlink(path)
    if path.is_dir():
        return {p.name: stamp(p) for p in path.iterdir()}
    return (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest()) if path.is_file() else path.exists()


class Bench:
    """Runs commands in a folder; `findings` are the ways in which they broke a promise."""

    def __init__(self) -> None:
        self.cases, self.peak, self.slowest, self.name, self.folder = 0, 0, 0.0, "", Path()
        self.findings: list[tuple[str, str, str, str]] = []
        self.codes: dict[int, int] = {}

    def find(self, what, words=(), more="") -> None:
        self.findings.append((what, self.name, " ".join(map(ascii, words))[:600], ascii(more[-900:])))

    def run(self, words, watch=(), codes=(0, 1, 2), **how):
        """Run `polyjudge WORDS`. watch : what must stay as it was; how : see `_become`. (code, stdout, stderr, s)"""
        before, began = [stamp(Path(p)) for p in watch], time.monotonic()
        said = [self.folder.with_suffix(f".{x}") for x in ("out", "err")]
        child = os.fork()
        if not child:
            try:
                _become(self.folder, said, words, **how)
            except BaseException:
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(99)
        patience, handle = 60 * max(1, os.getloadavg()[0] / os.cpu_count()), os.pidfd_open(child)
        if "end" in how and not select.select([handle], [], [], how["end"][0])[0]:
            os.kill(child, how["end"][1])
        if not select.select([handle], [], [], patience)[0]:
            self.find(f"took more than {patience:.0f} s", words)
            os.killpg(child, signal.SIGKILL)
        os.close(handle)
        _, status, usage = os.wait4(child, 0)
        code, took, peak = os.waitstatus_to_exitcode(status), time.monotonic() - began, usage.ru_maxrss >> 10
        out, err = (p.read_bytes().decode("utf-8", "surrogateescape") if p.exists() else "" for p in said)
        for p in said:
            p.unlink(missing_ok=True)
        self.cases, self.codes[code] = self.cases + 1, self.codes.get(code, 0) + 1
        self.peak, self.slowest = max(self.peak, peak), max(self.slowest, took)
        if code not in codes or "Traceback (most" in err or "internal error" in err:
            self.find(f"exit code {code}", words, err or out)
        if peak > 1524 or (self.folder / "owned").exists():
            self.find(f"took {peak} MB" if peak > 1524 else "a name was run", words)
        if [stamp(Path(p)) for p in watch] != before:
            self.find("an input changed", words, err)
        if found := UNSEEN.search(out) or UNSEEN.search(err):
            self.find(f"raw {found[0]!a} was printed", words, found.string[max(found.start() - 200, 0) :][:300])
        return code, out, err, took


def _become(folder, said, words, real=False, end=None, read=None, outputs=None, most=0, nobody=False) -> None:
    """The child: a program of its own, or a fork in which all is loaded."""
    os.setsid()
    os.chdir(folder)
    for fd, path in ((0, "/dev/null"), (1, outputs or said[0]), (2, said[1])):
        os.dup2(os.open(path, os.O_RDWR if fd == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), fd)
    os.environ |= {"POLYJUDGE_MEMORY": "1GB", "OPENBLAS_NUM_THREADS": "1"}
    if most:  # as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    if nobody and os.getuid() == 0:
        os.setgid(65534), os.setuid(65534)
    if real:
        os.execv(sys.executable, [sys.executable, "-m", "polyjudge", *words])
    sys.stdout, sys.stderr = (open(fd, "w", encoding="utf-8", closefd=False) for fd in (1, 2))  # noqa: SIM115
    if read:
        made, to = read
        rows.MOST_TASKS, rows.UNITS = made.most, 3
        to.write_text(json.dumps(found_in(made.source, made.options)))
    sys.argv = ["polyjudge", *words]
    try:
        cli.main()
    except SystemExit as ended:
        os._exit(ended.code or 0)
