"""How much there is to read: few pages by hand, and few words on them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GENERATED = {
    "api.md": "docs/make_api.py",
    "commands.md": "docs/make_commands.py",
    "evidence.md": "evidence/__main__.py",
    "reproduce.md": "docs/make_reproduce.py",
    "screens.md": "docs/make_screens.py",
    "validation.md": "validation/__main__.py",
}
"""Pages that a program writes, and the program. The tutorial's text is by hand, so it counts, outputs and all."""
PAGES, WORDS, README_LINES = 20, 22_000, 120


def by_hand() -> list[Path]:
    return [page for page in sorted(ROOT.glob("docs/*.md")) if page.name not in GENERATED]


def test_what_is_called_generated_has_a_program_that_writes_it() -> None:
    for page, program in GENERATED.items():
        assert (ROOT / "docs" / page).is_file(), page
        assert (ROOT / program).is_file(), program


def test_few_pages_are_written_by_hand() -> None:
    assert len(by_hand()) <= PAGES, [page.name for page in by_hand()]


def test_few_words_are_on_them() -> None:
    """Counted as `wc -w` does: code and the bars of tables too, but not the table that `make bench` writes."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in by_hand()}
    count = {
        name: len(re.sub(r"(?s)<!-- bench: begin -->.*<!-- bench: end -->", "", x).split()) for name, x in texts.items()
    }
    assert sum(count.values()) <= WORDS, sorted(count.items(), key=lambda one: -one[1])


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < README_LINES
