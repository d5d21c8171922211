"""What an assistant should know to use polyjudge: `python -m polyjudge.second.skill` prints it."""

from __future__ import annotations

from importlib.resources import files


def skill() -> str:
    """The skill as Markdown: which command fits, which caveat to repeat, how to read the JSON."""
    return files("polyjudge").joinpath("SKILL.md").read_text(encoding="utf-8")


if __name__ == "__main__":
    print(skill(), end="")
