"""The first screen: its shape, its width, what it leaves out, and that nothing in it is more than text."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_samples import WINNER, hostile, report

from polyjudge.report import terminal
from polyjudge.report.model import Finding, Report, Section, Step, Table
from polyjudge.report.terminal import columns, screen


def test_shape_of_the_first_screen():
    lines = screen(report()).splitlines()
    assert lines[0].startswith("80 tasks x 10 systems")
    assert lines[1] == ""
    assert [line.split()[0] for line in lines if re.match(r"(Winner|Judges|Off|Next|All) ", line)] == [
        "Winner", "Judges", "Off", "Next", "All",
    ]  # fmt: skip
    assert lines[-1] == "All details: --full. As a page: -o DIR"
    assert len(lines) <= 30
    assert max(map(columns, lines)) <= 100


def test_topics_are_wrapped_at_column_nine_and_say_every_word():
    lines = screen(report(), width=60).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Winner"))
    end = next(i for i, line in enumerate(lines) if line.startswith("Judges"))
    assert all(line[:9].strip() == "" and line[9] != " " for line in lines[start + 1 : end])
    assert " ".join(line[9:] for line in lines[start:end]) == WINNER


def test_the_board_has_eight_rows_and_counts_the_rest():
    text = screen(report())
    board = text[text.index("Systems (mean") :].split("\n\n")[0].splitlines()
    assert board[1].split() == ["1-2", "delta", "64.0"]
    assert board[2].split() == ["1-2", "charlie", "62.9", "-1.1", "[-3.0,", "+0.8]"]
    assert board[3].split()[0] == "3"
    assert board[-1].strip() == "and 2 more"
    assert len(board) == 10


def test_thirty_lines_even_where_much_is_said():
    many = tuple(Finding("warning", f"o{i}", "A sentence about a judge. " * 5, "Off") for i in range(4))
    lines = screen(replace(report(), findings=(*report().findings, *many))).splitlines()
    assert len(lines) <= 30
    assert "  and 3 more" in lines


def test_a_board_without_ranks_has_headings():
    frame = pd.DataFrame({"criterion": ["tone", "facts"], "r": [0.5, np.nan]})
    table = Table("criteria", "Criteria", frame, {"criterion": "name", "r": "number"}, {"r": "agreement"})
    text = screen(replace(report(), board=table))
    assert re.search(r"criterion +agreement\n +tone +0\.50\n +facts +–", text)


def test_findings_without_topics_stand_left_or_wait_for_full():
    said = "gpt5 scores German answers 5.0 points [4.1, 5.9] higher than on 3 March."
    text = screen(Report("drift", "Drift", ("80 tasks.",), (Finding("warning", "d", said),)))
    assert text.splitlines()[2] == said
    assert "Longer responses" not in screen(report())
    full = screen(report(), full=True)
    assert "Longer responses" in full
    assert "--full" not in full


def test_full_says_all_tables_and_no_sentence_twice():
    text = screen(report(), full=True)
    assert "Where judges and people disagree" in text
    assert "and 20 more: --json, or -o DIR" in text
    assert re.search(r"Thai +[-+0-9.]+ +[-+0-9.]+ +-12\.20? ", text), "the heatmap as a grid"
    assert " ".join(text.split()).count("relative to the other judges") == 1
    assert max(map(columns, text.splitlines())) <= 100


def test_columns_that_do_not_fit_go_on_below():
    frame = pd.DataFrame({"name": ["a"], **{f"number_{i}": [1000.0 + i] for i in range(12)}})
    table = Table("t", "T", frame, {"name": "name", **{f"number_{i}": "points" for i in range(12)}})
    text = screen(Report("x", "X", sections=(Section("s", "S", tables=(table,)),)), full=True, width=60)
    assert max(map(columns, text.splitlines())) <= 60
    assert all(f"{1000 + i:,}" in text for i in range(12))


def test_commands_are_aligned_and_never_broken():
    text = screen(report())
    first, second = (line for line in text.splitlines() if "polyjudge " in line)
    assert first.startswith("Next     polyjudge audit")
    assert first.index("read 10") == second.index("if you use")
    narrow = screen(report(), width=40)
    assert "         polyjudge audit scores.csv --cell Thai,mistral-large\n" in narrow.replace("Next     ", " " * 9)


def test_in_python_the_advice_is_python_inside_sentences_too():
    found = (*report().findings, Finding("info", "x", "Read its answers:  polyjudge audit a.csv --cell th,m", "Off"))
    text = screen(replace(report(), findings=found), python=True)
    assert "pj.audit('scores.csv', cell='Thai,mistral-large')" in text
    assert "pj.ConsensusCalibrator().fit('scores.csv')" in text
    assert "Read its answers:  pj.audit('a.csv', cell='th,m')" in text
    assert "polyjudge " not in text
    assert "--" not in text


def test_wide_characters_count_two_columns():
    found = (Finding("info", "x", "日本語の回答 " * 12, "Off"),)
    lines = screen(replace(report(), findings=found, next=()), width=50).splitlines()
    assert max(map(columns, lines)) <= 50
    body = terminal._grid([["日本", "1"], ["e\u0301", "22"]], [], ["name", "points"], 40, lambda t, _: t)
    assert len({columns(line) for line in body}) == 1


def test_a_long_word_is_broken_rather_than_the_width():
    assert terminal.wrap("a " + "x" * 25, 10) == ["a", "x" * 10, "x" * 10, "x" * 5]


@pytest.mark.parametrize("full", [False, True])
def test_hostile_names_cannot_steer_a_terminal(full):
    text = screen(hostile(), full=full)
    assert all(c == "\n" or c.isprintable() for c in text)
    assert "\\x1b]52" in text
    assert "x" * 100 not in text


def test_colour_only_on_a_terminal(monkeypatch, capsys):
    terminal.show(report())
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal.show(report())
    coloured = capsys.readouterr().out
    assert "\x1b[1;33mOff\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).count("\nWinner   Too close") == 1
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.show(report())
    assert "\x1b" not in capsys.readouterr().out


def test_answers_with_texts_stand_one_below_the_other():
    frame = pd.DataFrame({"task": ["t1", "t2"], "score": [20.0, 25.0], "response": ["word " * 60, "short"]})
    table = Table("answers", "Answers", frame, {"task": "name", "score": "points", "response": "text"})
    lines = screen(Report("audit", "A", ("80 tasks.",), board=table), width=60).splitlines()
    assert lines[3] == "  t1  score 20.0"
    assert re.fullmatch(r"    response  (word )+.*…", lines[4])
    assert lines[5:7] == ["  t2  score 25.0", "    response  short"]
    assert max(map(columns, lines)) <= 60
    assert screen(Report("audit", "A", board=table), full=True, width=60).count("word") == 60


def test_a_wide_table_repeats_all_its_names_and_a_column_has_one_number_of_decimals():
    frame = pd.DataFrame({"language": ["de", "th"], "judge": ["A", "B"], "off": [12.8, -7.8], "low": [6.6, -11.6]})
    more = [f"number {i}" for i in range(12)]
    frame = frame.assign(high=[19.0, -4.0], **{x: [1.5, 2.5] for x in more})
    kinds = {"language": "name", "judge": "name", "off": "+points low high", **dict.fromkeys(more, "points")}
    table = Table("off", "What is off", frame, kinds)
    text = screen(replace(report(), sections=(Section("off", "Off", tables=(table,)),)), full=True)
    assert sum(line.split()[:2] == ["de", "A"] for line in text.splitlines()) == 2
    assert "+12.8 [+6.6, +19.0]" in text
    assert "-7.8 [-11.6, -4.0]" in text


def test_the_last_lines_offer_what_there_is():
    assert screen(replace(report(), command="calibrate")).splitlines()[-1] == "All details: --full."  # no page
    assert "Next     Read the answers." in screen(replace(report(), next=(Step("", "Read the answers."),)))
