"""The tests tested: alter one place of a question at random, run its tests, and print what nobody noticed.

    python tools/mutate.py                        # two alterations of every question; others: --seed
    python tools/mutate.py audit --sample 20      # twenty of one question, or of a room: estimate, calibrate

An alteration is one operator, comparison, number, sign, word of a sentence or column of a table, in a copy of the
package. The quick tests of the question run once to learn which of them call which function; then those that call the
altered one run against the copy, the quickest first, each alteration in a fork of a process that has loaded everything
but polyjudge. Survivors are printed with their line; the exit code is 1 when there are any.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy: threads do not live through a fork
WARM = ("numpy", "pandas", "scipy.stats", "scipy.optimize", "scipy.sparse.csgraph", "duckdb", "typer", "rich.console")

import pytest  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/polyjudge")
ROOMS = ("estimate", "calibrate")
QUICK = "not slow and not statistical and not browser and not real_data and not spark and not postgres and not r"
SWAPPED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.GtE, ast.GtE: ast.Lt,
    ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
SKIPPED_ARGUMENTS = {
    "strict": "guards against our own mistakes",
    "folded": "layout",
    "digits": "layout",
    "most": "layout: rows that are shown",
    "resamples": "more draws, not another answer",
    "seed": "another draw, not another answer",
    "compact": "layout",
    "indent": "layout",
    "ensure_ascii": "another spelling of the same JSON",
}
"""Arguments and defaults of these names, and why no test need notice what becomes of them."""
SKIPPED_CONSTANTS = ("BYTES", "BLOCK", "MEMORY", "SHOWN", "ROOM", "WIDTH", "LONGEST", "MOST_")
"""Parts of names of constants that bound time, memory or rows on the page."""
SKIPPED_CALLS = {
    "progress": "what is shown while waiting",
    "track": "what is shown while waiting",
    "reshape": "any negative size is what is left; other sizes fail wherever they are met",
}
EQUIVALENT: dict[str, str] = {
    "questions/check/words.py: 6 -> (7)": "there are six commands to name",
    "questions/compare/held_out.py: f\"full fit of {m.name}\" -> ('altered')": "names a stream of random numbers",
    "questions/judges/choose.py: 1e3 -> (1001.0)": "any large number: weights are brought to the sum of 1",
    "questions/audit/explanation.py: judge[:, None] == np.arange(m) -> (judge[:, None] != np.arange(m))": "the rank is "
    "the same: columns of languages add up to one",
}
"""Alterations that change nothing that anybody can see: as printed, without the line -> why."""


@dataclass(frozen=True)
class Mutant:
    """In `file` of the package the text from one place to another becomes `new`."""

    file: Path
    line: int
    column: int
    start: int
    end: int
    old: str
    new: str
    inside: int
    """First line of the function around it; 0 where there is none."""

    @property
    def name(self) -> str:
        """It without its line, which other changes move."""
        return " ".join(f"{self.file}: {self.old}  ->  {self.new}".split())

    def applied(self, text: bytes) -> bytes:
        """The text of the file with the alteration."""
        return text[: self.start] + self.new.encode() + text[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {' '.join(self.old.split())}  ->  {' '.join(self.new.split())}"


def mutants(file: Path, root: Path = ROOT) -> Iterator[Mutant]:
    """Every alteration of a file, in the order of its lines."""
    text = (root / PACKAGE / file).read_text(encoding="utf-8")
    tree = ast.parse(text)
    skipped = {id(c) for node in ast.walk(tree) for part in _not_code(node) for c in ast.walk(part)}
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, inside in _with_function(tree, 0):
        new = None if id(node) in skipped else _altered(node)
        if new is not None and isinstance(node, ast.expr) and node.end_lineno and node.end_col_offset is not None:
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            old = text.encode()[start:end].decode()
            mutant = Mutant(file, node.lineno, node.col_offset, start, end, old, f"({new})", inside)
            if mutant.name not in EQUIVALENT:
                yield mutant


def _with_function(node: ast.AST, inside: int) -> Iterator[tuple[ast.AST, int]]:
    yield node, inside
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        inside = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    for child in ast.iter_child_nodes(node):
        yield from _with_function(child, inside)


def _not_code(node: ast.AST) -> Iterator[ast.AST]:
    """What no test need notice: docstrings, annotations, how classes are made, guards, layout, bounds of time."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.Assert):
        yield node
    yield from (n for n in (getattr(node, "annotation", None), getattr(node, "returns", None)) if n is not None)
    yield from getattr(node, "decorator_list", [])
    if isinstance(node, ast.JoinedStr):
        yield from node.values
    if isinstance(node, ast.keyword) and node.arg in SKIPPED_ARGUMENTS:
        yield node.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in SKIPPED_CALLS:
        yield from node.args
    if isinstance(node, ast.arguments):  # of options they stand in docs/commands.md, which a test holds to them
        pairs = [*zip(reversed([*node.posonlyargs, *node.args]), reversed(node.defaults), strict=False)]
        pairs += [(a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d is not None]
        yield from (d for a, d in pairs if a.arg in SKIPPED_ARGUMENTS or "Option(" in ast.unparse(a))
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [getattr(t, "id", "") for t in targets]
        if any(n == "__all__" or (n.isupper() and any(part in n for part in SKIPPED_CONSTANTS)) for n in names):
            yield node.value


def _altered(node: ast.AST) -> str | None:
    if isinstance(node, ast.BinOp) and any(_is_text(part) for part in (node.left, node.right)):
        return None  # the difference of two texts fails wherever it is met
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
        return _with(node, op=SWAPPED[type(node.op)]())
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPPED:
        return _with(node, ops=[SWAPPED[type(node.ops[0])]()])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return ast.unparse(node.operand)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        return _with(node, func=ast.Name(CALLS[node.func.id]))
    if isinstance(node, ast.JoinedStr):
        return repr("altered") if any(isinstance(v, ast.FormattedValue) for v in node.values) else None
    if isinstance(node, ast.Constant):
        return _other(node.value)
    return None


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _other(value: object) -> str | None:
    """Another constant: a number, a sentence that speaks of values, a table without its last column."""
    if type(value) is bool:
        return repr(not value)
    if isinstance(value, int | float):
        return repr(value + 1)
    if isinstance(value, str) and "{" in value:
        return repr("altered")
    if isinstance(value, str) and " | " in value:
        return repr(value.strip("| ").rpartition(" | ")[0])
    return None


def _with(node: ast.AST, **parts: Any) -> str:
    other = ast.parse(ast.unparse(node), mode="eval").body
    for name, part in parts.items():
        setattr(other, name, part)
    return ast.unparse(other)


def sample(name: str, size: int, seed: int) -> list[Mutant]:
    """So many alterations of a question or a room, from all of its modules."""
    folder = ROOT / PACKAGE / ("" if name in ROOMS else "questions") / name
    every = [m for f in sorted(folder.glob("*.py")) for m in mutants(f.relative_to(ROOT / PACKAGE))]
    return random.Random(f"{name} {seed}").sample(every, min(size, len(every)))


def tests_of(name: str) -> list[str]:
    """Where the tests of a question are; those of a room, and what questions make of it."""
    kept = sorted(str(path) for path in Path("tests/questions").glob("*/test_*_values.py"))
    return [f"tests/{name}", *kept] if name in ROOMS else [f"tests/questions/{name}"]


class Calls:
    """A plugin of pytest that notes which test calls which function of the package, and how long it takes."""

    def __init__(self, package: Path) -> None:
        self.package, self.now = f"{package}{os.sep}", ""
        self.calls: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        """Of tests, and of fixtures that several tests share: by their file, or "" for all files."""
        self.found: dict[str, tuple[str, float]] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.now, start = item.nodeid, time.perf_counter()
        threading.settrace(self._note)
        sys.settrace(self._note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.found[item.nodeid] = str(item.path), time.perf_counter() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        test = self.now
        if fixturedef.scope != "function":
            self.now = "" if fixturedef.scope in ("session", "package") else str(request.path)
        try:
            return (yield)
        finally:
            self.now = test

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def _note(self, frame: Any, _event: str, _arg: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith(self.package):
            self.calls[self.now].add((code.co_filename[len(self.package) :], code.co_firstlineno))

    def table(self) -> dict[str, Any]:
        """Test -> its file, its seconds, and the functions it calls; without those that fail while they are watched."""
        shared = self.calls[""]
        return {
            test: (file, seconds, sorted(self.calls[test] | self.calls[file] | shared))
            for test, (file, seconds) in self.found.items()
            if test not in self.failed
        }


class Chosen:
    """A plugin of pytest that runs some of the tests, in a given order."""

    def __init__(self, order: list[str]) -> None:
        self.order = {name: i for i, name in enumerate(order)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])


class Tested:
    """A copy of the package, and what some tests call in it."""

    def __init__(self, tests: list[str], copy: Path) -> None:
        self.copy, self.altered, notes = copy, 0, copy / "calls.json"

        def learn() -> int:
            calls = Calls(copy / "polyjudge")
            code = _pytest(tests, calls, "--maxfail=3")
            notes.write_text(json.dumps(calls.table()), encoding="utf-8")
            return code

        if _forked(learn, copy, 1800, sys.stderr.fileno()) not in (0, 1, 5):
            raise SystemExit(f"{' '.join(tests)} fail before anything is altered.")
        found = json.loads(notes.read_text(encoding="utf-8"))
        self.files = {test: file for test, (file, _, _) in found.items()}
        self.seconds = {test: seconds for test, (_, seconds, _) in found.items()}
        self.calls = {test: {(f, line) for f, line in calls} for test, (_, _, calls) in found.items()}

    def order(self, mutant: Mutant) -> list[str]:
        """The tests that call the altered function, the quickest first; of what stands outside functions, and of what
        nothing calls, those that call anything of its folder; all tests where none does."""
        file, folder = str(mutant.file), f"{mutant.file.parent}{os.sep}"
        chosen = {t for t, calls in self.calls.items() if mutant.inside and (file, mutant.inside) in calls}
        chosen = chosen or {t for t, calls in self.calls.items() if any(f.startswith(folder) for f, _ in calls)}
        return sorted(chosen or self.calls, key=lambda t: self.seconds[t])

    def survives(self, mutant: Mutant) -> bool:
        """Whether the tests pass on the altered copy. Tests that hang or cannot start have noticed."""
        order = self.order(mutant)
        path = self.copy / "polyjudge" / mutant.file
        text = path.read_bytes()
        path.write_bytes(mutant.applied(text))
        self.altered += 2
        os.utime(path, (self.altered, self.altered))  # another time, so that it is compiled again
        files = sorted({self.files[t] for t in order})
        limit = 60 + 10 * sum(self.seconds[t] for t in order)
        code = _forked(lambda: _pytest(files, Chosen(order)), self.copy, limit)
        path.write_bytes(text)
        os.utime(path, (self.altered + 1, self.altered + 1))
        return code in (0, 5)  # 5: there was no test


def _pytest(tests: list[str], plugin: object, end: str = "-x") -> int:
    options = ["-q", end, "-p", "no:cacheprovider", "--no-header", "-m", QUICK, f"--rootdir={ROOT}"]
    return int(pytest.main([*options, *tests], plugins=[plugin]))


def _forked(work: Callable[[], int], copy: Path, seconds: float, output: int | None = None) -> int:
    """What a fork that takes polyjudge from the copy gives back; -1 when it takes too long or dies."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.environ["PYTHONPATH"] = f"{copy}:{ROOT}"
        sys.path.insert(0, str(copy))
        sys.dont_write_bytecode = False
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(output or nowhere, 1)
        os.dup2(output or nowhere, 2)
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", help="only these; all by default")
    parser.add_argument("--sample", type=int, default=2, help="alterations of each question")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    os.chdir(ROOT)
    for module in WARM:
        import_module(module)
    folders = sorted(p.name for p in (ROOT / PACKAGE / "questions").iterdir() if p.is_dir() and p.name[0] != "_")
    alive = total = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(ROOT / PACKAGE, copy / "polyjudge")
        for name in given.questions or folders:
            question = Tested(tests_of(name), copy)
            for mutant in sample(name, given.sample, given.seed):
                start = time.monotonic()
                lives = question.survives(mutant)
                alive, total = alive + lives, total + 1
                took = time.monotonic() - start
                print(f"{name:8} {'SURVIVED' if lives else 'noticed '} {took:5.1f}s {mutant}", flush=True)
    print(f"{total - alive} of {total} alterations were noticed (seed {given.seed}).")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main())
