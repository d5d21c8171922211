"""The tests tested: alter one place of a question at random, run its tests, and print what nobody noticed.

    python tools/mutate.py                        # two alterations of every question, seed of the day's choice: --seed
    python tools/mutate.py audit --sample 20      # twenty of one question

An alteration is one operator, comparison, number or word of a sentence in a copy of the package. The quick tests of
the question run against that copy. Survivors are printed with their line; the exit code is 1 when there are any.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/polyjudge")
QUICK = "not slow and not statistical and not browser and not real_data and not spark and not postgres and not r"
SWAPPED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
    ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """In `file` of the package the text from one place to another becomes `new`."""

    file: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old.strip()}  ->  {self.new.strip()}"


def mutants(file: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """Every alteration of a file, in the order of its lines."""
    text = (root / PACKAGE / file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    skipped = {id(c) for node in ast.walk(tree) for c in _not_code(node)}
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(tree):
        new = None if id(node) in skipped else _altered(node)
        if new is not None and isinstance(node, ast.expr) and node.end_lineno and node.end_col_offset is not None:
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            old = text.encode()[start:end].decode()
            yield Mutant(file, node.lineno, start, end, old, f"({new})" if not isinstance(node, ast.Constant) else new)


def _not_code(node: ast.AST) -> Iterator[ast.AST]:
    """What only describes: docstrings, annotations, and the parts of f-strings."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    for name in ("annotation", "returns"):
        note = getattr(node, name, None)
        if note is not None:
            yield from ast.walk(note)
    if isinstance(node, ast.JoinedStr):
        yield from ast.walk(node)


def _altered(node: ast.AST) -> str | None:
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        other = ast.parse(ast.unparse(node), mode="eval").body
        other.op = SWAPPED[type(node.op)]()  # type: ignore[attr-defined]
        return ast.unparse(other)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPPED:
        other = ast.parse(ast.unparse(node), mode="eval").body
        other.ops = [SWAPPED[type(node.ops[0])]()]  # type: ignore[attr-defined]
        return ast.unparse(other)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return repr(node.value + 1)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "{" in node.value:
        return repr("altered")  # a sentence that speaks of values
    return None


def applied(mutant: Mutant, folder: Path, root: Path = ROOT) -> None:
    """A copy of the package with the alteration, in `folder`."""
    shutil.copytree(root / PACKAGE, folder / "polyjudge", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "polyjudge" / mutant.file
    text = path.read_bytes()
    path.write_bytes(text[: mutant.start] + mutant.new.encode() + text[mutant.end :])


def survives(mutant: Mutant, tests: list[str], seconds: float = 600) -> bool:
    """Whether the tests pass on the altered copy. Tests that hang or cannot start have noticed."""
    with tempfile.TemporaryDirectory() as name:
        applied(mutant, Path(name))
        environment = {**os.environ, "PYTHONPATH": f"{name}:{ROOT}", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", QUICK, *tests]
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode == 4:  # pytest itself was called wrongly: that is no test that noticed
            raise SystemExit(done.stderr.decode())
        return done.returncode in (0, 5)  # 5: there was no test


def sample(question: str, size: int, seed: int) -> list[Mutant]:
    """So many alterations of a question, from all of its modules."""
    folder = ROOT / PACKAGE / "questions" / question
    every = [m for f in sorted(folder.glob("*.py")) for m in mutants(f.relative_to(ROOT / PACKAGE))]
    return random.Random(f"{question} {seed}").sample(every, min(size, len(every)))


def tests_of(question: str) -> list[str]:
    """Where its tests are; those of the command line where it has no folder of its own."""
    own = f"tests/questions/{question}"
    return [own] if (ROOT / own).is_dir() else ["tests/cli"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", help="only these; all by default")
    parser.add_argument("--sample", type=int, default=2, help="alterations of each question")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    folders = sorted(p.name for p in (ROOT / PACKAGE / "questions").iterdir() if p.is_dir() and p.name[0] != "_")
    chosen = [(q, m) for q in given.questions or folders for m in sample(q, given.sample, given.seed)]
    with ThreadPoolExecutor(given.workers) as pool:
        alive = list(pool.map(lambda x: survives(x[1], tests_of(x[0])), chosen))
    for (question, mutant), lives in zip(chosen, alive, strict=True):
        print(f"{question:8} {'SURVIVED' if lives else 'noticed '} {mutant}", flush=True)
    print(f"{len(alive) - sum(alive)} of {len(alive)} alterations were noticed (seed {given.seed}).")
    return int(any(alive))


if __name__ == "__main__":
    sys.exit(main())
