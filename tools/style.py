"""How Python code reads, in figures that follow what readers say of it: a row for each part of polyjudge.

    python style.py [--source SRC] [ROOT ...]  a row for each top folder of src/polyjudge, then one for each ROOT
    python style.py [--source SRC] --worst 30  the functions that most need unpacking, and why
    python style.py [--source SRC] --wall      the functions above the complexity that `make lint` refuses
    python style.py [--source SRC] --check     what `make lint` runs: the table, and an error for a function above the
                                               wall that above_wall.txt does not list, or a line of it that may go

Shares are of the functions whose code has eight lines or more. Counts are per 100 statements, so that another width of
the formatter changes nothing. Tests, stubs and vendored code are left out; a nested function counts with its parent.
"""

import argparse
import ast
import io
import os
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SKIPPED_FOLDERS = {"tests", "test", "externals", "_vendor"}
FILLERS = frozenset(
    [
        "found",
        "said",
        "made",
        "x",
        "at",
        "own",
        "more",
        "each",
        "every",
        "both",
        "left",
        "whole",
        "what",
        "how",
        "why",
        "one",
        "place",
        "out",
        "rest",
        "gone",
        "part",
    ]
)
BRANCH_NODES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
TEXT_TOKENS = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
LISTED_ABOVE_WALL = Path(__file__).with_name("above_wall.txt")
LONG_FUNCTION = 8  # lines of code; nearly all shorter functions read easily
COMPLEXITY_WALL = 15

# Above these marks a function is hard to hold in the head; about a fifth of the models' functions pass the first two.
MARKS = {"locals": 10, "tokens": 250, "depth": 9}


@dataclass
class Function:
    """What is counted of one function, the functions inside it included, docstrings left out.

    depth : levels of the deepest expression in the syntax tree
    complexity : decisions plus one, conditional expressions and boolean operators counted
    """

    path: Path
    line: int
    name: str
    code_lines: int
    tokens: int
    statements: int
    locals: int
    depth: int
    complexity: int
    fillers: int
    ternaries: int

    def exceeded_marks(self) -> dict[str, int]:
        """The figures that are above their marks."""
        return {name: getattr(self, name) for name, mark in MARKS.items() if getattr(self, name) > mark}


def measure_file(path: Path) -> list[Function]:
    """The functions and methods of a module."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    tokens_of_line = count_tokens(source, find_docstring_lines(tree))
    return [measure_function(node, path, tokens_of_line) for node in find_functions(tree)]


def find_functions(scope: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module and of its classes, without those inside other functions."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        else:
            yield from find_functions(node)


def measure_function(
    function: ast.FunctionDef | ast.AsyncFunctionDef, path: Path, tokens_of_line: dict[int, int]
) -> Function:
    """Count what MARKS and the table need."""
    lines = [number for number in range(function.lineno, function.end_lineno + 1) if number in tokens_of_line]
    nodes = list(ast.walk(function))
    stored_names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    argument_names = [node.arg for node in nodes if isinstance(node, ast.arg)]
    return Function(
        path=path,
        line=function.lineno,
        name=function.name,
        code_lines=len(lines),
        tokens=sum(tokens_of_line[number] for number in lines),
        statements=sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in nodes),
        locals=len(set(stored_names)),
        depth=max(deepest_expression(node) for node in nodes),
        complexity=1 + sum(map(count_decisions, nodes)),
        fillers=sum(name in FILLERS for name in stored_names + argument_names),
        ternaries=sum(isinstance(node, ast.IfExp) for node in nodes),
    )


def is_docstring(node: ast.AST) -> bool:
    """Whether a node is a string that stands alone as a statement."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def find_docstring_lines(tree: ast.Module) -> set[int]:
    """Numbers of the lines of all strings that stand alone as a statement."""
    docstrings = [node for node in ast.walk(tree) if is_docstring(node)]
    return {line for node in docstrings for line in range(node.lineno, node.end_lineno + 1)}


def count_tokens(source: str, docstring_lines: set[int]) -> dict[int, int]:
    """How many tokens begin on each line of code."""
    tokens_of_line: dict[int, int] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        line = token.start[0]
        if token.type in TEXT_TOKENS and line not in docstring_lines:
            tokens_of_line[line] = tokens_of_line.get(line, 0) + 1
    return tokens_of_line


def deepest_expression(node: ast.AST) -> int:
    """Levels of the deepest expression of a statement; 0 for what is no statement."""
    if not isinstance(node, ast.stmt) or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return 0
    expressions = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return max(map(count_levels, expressions), default=0)


def count_levels(node: ast.AST) -> int:
    """Levels of a syntax tree."""
    return 1 + max(map(count_levels, ast.iter_child_nodes(node)), default=0)


def count_decisions(node: ast.AST) -> int:
    """Decisions that a node adds, as radon counts them but for `assert`, `lambda` and the `else` of loops."""
    if isinstance(node, BRANCH_NODES):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return 0


def measure_root(root: Path) -> list[Function]:
    """The functions of all Python files below a folder, without tests and vendored code."""
    files = [path for path in sorted(root.resolve(strict=True).rglob("*.py")) if not path.name.startswith("test_")]
    files = [path for path in files if not SKIPPED_FOLDERS.intersection(path.relative_to(root.resolve()).parts)]
    return [function for path in files for function in measure_file(path)]


def summarize(functions: list[Function]) -> dict[str, str]:
    """A row of the table, by column title."""
    long_functions = [function for function in functions if function.code_lines >= LONG_FUNCTION]
    n_statements = max(sum(function.statements for function in functions), 1)
    row = {"functions": f"{len(functions)}", f"of {LONG_FUNCTION}+ lines": f"{len(long_functions)}"}
    for name, mark in MARKS.items():
        n_above = sum(getattr(function, name) > mark for function in long_functions)
        row[f"{name}>{mark}"] = f"{n_above / max(len(long_functions), 1):.0%}"
    row["fillers%"] = f"{100 * sum(function.fillers for function in functions) / n_statements:.1f}"
    row["ternaries%"] = f"{100 * sum(function.ternaries for function in functions) / n_statements:.1f}"
    row[f"complexity>{COMPLEXITY_WALL}"] = f"{len(find_above_wall(functions))}"
    row["tokens"] = f"{sum(function.tokens for function in functions):,}"
    return row


def find_above_wall(functions: list[Function]) -> list[Function]:
    """The functions that are more complex than `make lint` allows."""
    return [function for function in functions if function.complexity > COMPLEXITY_WALL]


def print_worst(functions: list[Function], number: int) -> None:
    """Print the functions that exceed their marks most: by how many times, summed over the marks."""

    def excess(function: Function) -> float:
        return sum(value / MARKS[name] for name, value in function.exceeded_marks().items())

    for function in sorted(functions, key=excess, reverse=True)[:number]:
        reasons = ", ".join(f"{value} {name}" for name, value in function.exceeded_marks().items())
        place = os.path.relpath(function.path)
        print(f"{place}:{function.line} {function.name}: {reasons}, complexity {function.complexity}")


def print_table(source: Path, functions: list[Function], other_roots: list[Path]) -> None:
    """Print a row for each folder of the source, for the modules beside them, for all, and for each other root."""
    source = source.resolve()
    folders = [folder for folder in sorted(source.glob("[a-z]*/")) if any(folder.rglob("*.py"))]
    rows = {folder.name: summarize(measure_root(folder)) for folder in folders}
    rows["modules"] = summarize([function for function in functions if function.path.parent == source])
    rows["total"] = summarize(functions)
    rows |= {root.name: summarize(measure_root(root)) for root in other_roots}
    print(" " * 11, *rows["total"])
    for name, row in rows.items():
        print(f"{name:11}", *(f"{value:>{len(title)}}" for title, value in row.items()))


def describe_wall(functions: list[Function], source: Path) -> dict[str, Function]:
    """The functions above the wall, by file and name as above_wall.txt lists them."""
    root = source.resolve()
    return {f"{x.path.relative_to(root).as_posix()} {x.name}": x for x in find_above_wall(functions)}


def compare_with_list(above: dict[str, Function], listed: list[str]) -> list[str]:
    """What is wrong with the list: functions that it lacks, and lines that are true no longer."""
    errors = [
        f"{place} has a complexity of {function.complexity}, above {COMPLEXITY_WALL}: take it apart."
        for place, function in above.items()
        if place not in listed
    ]
    stale = [place for place in listed if place not in above]
    return errors + [f"{place} is no longer above {COMPLEXITY_WALL}: remove its line from the list." for place in stale]


def main() -> None:
    """Measure what the command line names, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", nargs="*", type=Path, metavar="ROOT", help="folder of another project")
    parser.add_argument("--source", type=Path, default=Path("src/polyjudge"), help="our code")
    parser.add_argument("--worst", type=int, metavar="N", default=0, help="list the N worst functions instead")
    parser.add_argument("--wall", action="store_true", help="list the functions above the complexity wall instead")
    parser.add_argument("--check", action="store_true", help="print the table and compare with above_wall.txt")
    options = parser.parse_args()
    functions = measure_root(options.source)
    if options.worst:
        print_worst(functions, options.worst)
    elif options.wall:
        for place, function in describe_wall(functions, options.source).items():
            print(f"{place} {function.complexity}")
    elif options.check:
        print_table(options.source, functions, options.roots)
        listed = LISTED_ABOVE_WALL.read_text(encoding="utf-8").splitlines()
        errors = compare_with_list(describe_wall(functions, options.source), listed)
        raise SystemExit("\n".join(errors) if errors else 0)
    else:
        print_table(options.source, functions, options.roots)


if __name__ == "__main__":
    main()
