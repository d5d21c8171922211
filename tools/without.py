"""The house without a question: its folder and its line are taken out, and the tests that do not ask it must pass.

    python tools/without.py                    # each of judges, label, anchor, plan, drift, audit
    python tools/without.py drift -- -x        # one of them; what follows -- is for pytest

Without `plan` the room of collecting goes too: it uses its rule. The paper stands on all questions and is not asked.
Tests of a file that names the question, as a module, as a public name or as a command, are its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "polyjudge"
NAMES = ("judges", "label", "anchor", "plan", "drift", "audit")
ROOMS = ("panel", "read", "estimate", "calibrate", "report", "questions")
"""Of whose tests those are run that do not name the question. Those of the rooms above name many of them."""
QUICK = "not slow and not statistical and not browser and not spark and not postgres and not r"


def take_out(name: str, folder: Path) -> Path:
    """A copy of the package without a question; its place."""
    house = folder / "polyjudge"
    shutil.copytree(SOURCE, house)  # with its bytecode: files that stay as they are need not be compiled again
    shutil.rmtree(house / "questions" / name)
    gone = [f'    "{name}": Question(']
    if name == "plan":
        shutil.rmtree(house / "collect")
        gone.append("polyjudge.collect")
    for file in (house / "rooms.py", house / "cli" / "commands.py"):
        text = file.read_text(encoding="utf-8")
        if name == "plan":  # what collecting alone adds to rooms below: nothing is added then
            text = re.sub(r'\["polyjudge\.collect\.\w+"\]', "[]", text)
        lines = text.splitlines(keepends=True)
        file.write_text("".join(x for x in lines if not any(part in x for part in gone)), encoding="utf-8")
    return house


def others(name: str) -> list[Path]:
    """Test files that do not name a question."""
    names = (name, "collect") if name == "plan" else (name,)
    ways = (r"questions[./]{}\b", r"pj\.{}\b", r"[\"']{}[\"']", r"import.*\b{}\b", r"\b{}\(", r"polyjudge\.{}\b")
    own = re.compile("|".join(way.format(n) for n in names for way in ways))
    files = [f for room in ROOMS for f in sorted((ROOT / "tests" / room).rglob("test_*.py"))]
    return [f for f in files if name not in f.parts and not own.search(f.read_text(encoding="utf-8"))]


def run_others(name: str, *more: str, files: list[Path] | None = None) -> subprocess.CompletedProcess[str]:
    """The other tests on the house without a question."""
    with tempfile.TemporaryDirectory() as folder:
        take_out(name, Path(folder))
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(ROOT)]), "POLYJUDGE_NO_SKIP": ""}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", QUICK, *more]
        chosen = others(name) if files is None else files
        return subprocess.run([*command, *map(str, chosen)], cwd=ROOT, env=env, capture_output=True, text=True)


def main() -> None:
    names, _, more = " ".join(sys.argv[1:]).partition("--")
    failed = []
    for name in names.split() or NAMES:
        done = run_others(name, *more.split())
        print(f"without {name}: {len(others(name))} files, {(done.stdout.splitlines() or [''])[-1]}", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stdout[-6000:] + done.stderr[-2000:])
    sys.exit(f"without {', '.join(failed)} other tests fail" if failed else 0)


if __name__ == "__main__":
    main()
