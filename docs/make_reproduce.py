"""The documentation page of the reproduction, made from the ledgers.

python docs/make_reproduce.py run_level_scores.csv human_labels.csv instances.jsonl human_anchor_sample.csv reproduce.md
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from polyjudge.panel.files import atomic_write
from polyjudge.paper.fetch import COMMIT, FILES, LABELS_COMMIT
from polyjudge.paper.human_labels import CAVEAT
from polyjudge.paper.ledger import COMPUTED, REACH, VERDICTS, Reproduction
from polyjudge.paper.printed import markdown_table, markdown_text, shown
from polyjudge.paper.published import PAPER
from polyjudge.paper.run import reproduce

MATRICES = ("beta_hat", "raw_mean_margin", "judge_aware_btl")
"""Sections of many cells: the page counts them, the ledger file lists them."""
NAMES = {"devai": "DevAI (internal benchmark)", "mrewardbench": "M-RewardBench (external validation)"}

INTRODUCTION = f"""# The paper, number by number

The calibrator comes from a paper:
{PAPER}.
`polyjudge paper reproduce` computes its numbers again from the scores that its authors released, and keeps a ledger:
what was published, what comes out, and what it means. {{said}}
This page is made from that ledger, by `docs/make_reproduce.py`. [The paper](paper.md) says how to read it.

```bash
polyjudge paper reproduce devai -o paper              # fetches the scores once
polyjudge paper reproduce devai --data run_level_scores.csv -o paper
polyjudge paper reproduce mrewardbench -o paper       # with --data FILE likewise
polyjudge paper reproduce mrewardbench --offline --anchor human_anchor_sample.csv
```

The folder gets the report as a page (`report.html`) and as Markdown, `ledger.csv`, the tables as CSV, Markdown and
LaTeX, and the figures as SVG, PNG and PDF. The exit code is 0 only if nothing that claims to be reproduced differs.
Other data are refused: `polyjudge paper report SCORES` writes the same tables for a panel of your own.

Without `--data` a file is fetched from the authors' repository (KurbanIntelligenceLab/multilingual-judge-calibration)
at commit `{COMMIT[:12]}`, checked by its content (shape, labels, and for DevAI all 48 interaction cells) and kept in
the user's cache (`POLYJUDGE_CACHE` moves it). A file that fails the check is never used. The files are
`{FILES["devai"]}` and
`{FILES["mrewardbench"]}`.

Without any file, what follows from the published matrices can still be computed:

```console
$ polyjudge paper reproduce mrewardbench --offline
```

```python
from polyjudge.paper import reproduce

result = reproduce("mrewardbench", offline=True)
print(result.ledger.counts)
```

"Reproduced" is said of a number that is computed here and prints as in the paper: it lies within half a unit of the
last printed digit. Random parts use the published draws. `--seed N` takes other draws instead; a random number may
then lie {{reach:.0f}} standard deviations of the difference of two runs further away, as measured over 100 other seeds
(`data/scatter.json`), and the output says so. Settings and names that are taken over, and the 48 interaction cells by
which the file is recognised, have marks of their own and count as nothing. Places say where the paper prints a number;
what only the released results or the released code hold is marked so and compared at the digits that the paper prints
of its kind.

With the scores the benchmark's requirements and human labels are fetched (metauto-ai/agent-as-a-judge, commit
`{LABELS_COMMIT[:12]}`); `--instances FILE` and `--labels FILE` name files. They show whether the judges agree about the
work, who agrees with the humans and whom calibration helps. Verdicts on single requirements stand in
`data/internal_benchmark/judgments/` of the authors' repository, one file for each run: `--judgments FOLDER` computes
the ablation by requirement type and Dawid-Skene on requirements from them (or from a CSV file of your own with task,
framework, language, backbone, requirement_id, satisfied). `--replication FILE` reads their repeat calls
(`replication_scores.csv`).

This page was made from the DevAI scores, requirements and labels and the authors' human-anchor sample, without the
single verdicts, the repeat calls and the M-RewardBench panel. With the panel the rest is computed as well, and the
human-anchor sample is drawn from it with the published seed.
"""

HUMAN_ANCHOR = """## The human anchor, end to end

The paper's strongest external claim was that calibration raises agreement with human preferences from 68.7% to 76.6%.
The decision is the sign of the mean margin over the judges. Calibration subtracts a matrix whose sum over judges is
zero, so it cannot move that mean. What moved it was rounding: a mean of exactly 0 became about 1e-17, and its sign was
counted as agreement. 64 of the 700 margins were ties; rounding turned 55 into agreement and 9 the other way. The
authors have retracted the gain (docs/RELEASE_AUDIT.md of their repository).

"""


def page(devai: Reproduction, mrewardbench: Reproduction) -> str:
    """The page as Markdown."""
    said = " ".join(map(_said, (devai, mrewardbench)))
    parts = [INTRODUCTION.format(said=said, reach=REACH), _verdicts(devai, mrewardbench)]
    parts += [_corrections(devai, mrewardbench), *_extra(devai)]
    anchor = next(t for t in mrewardbench.tables if t.name == "human_anchor")
    parts.append(HUMAN_ANCHOR + anchor.markdown())
    parts += [_section(devai), _section(mrewardbench)]
    return "\n".join(parts)


def _said(result: Reproduction) -> str:
    counts = result.ledger.counts
    return (
        f"{NAMES[result.ledger.benchmark]}: {sum(counts[v] for v in COMPUTED)} of {len(result.ledger.rows)} values "
        f"can be "
        f"computed and could come out otherwise; {counts['differs']} differ."
    )


def _extra(devai: Reproduction) -> list[str]:
    tables = {t.name: t for t in devai.tables}
    out = ["## Later work of the authors\n", tables["follow_up"].markdown()]
    if devai.labels is not None:
        out += ["## Beside human labels\n", markdown_text(CAVEAT) + "\n", tables["human_labels"].markdown()]
    return out


def _verdicts(*results: Reproduction) -> str:
    rows = pd.DataFrame({"verdict": list(VERDICTS), "meaning": list(VERDICTS.values())})
    for r in results:
        rows[NAMES[r.ledger.benchmark]] = [r.ledger.counts[v] for v in VERDICTS]
    return "## Verdicts\n\n" + markdown_table(rows)


def _corrections(*results: Reproduction) -> str:
    out = ["## What does not hold, what is arithmetic, and what can be said instead\n"]
    for r in results:
        rows = pd.DataFrame(
            [(c.claim, c.published, c.conceded or "–", c.later or "–", c.correct, c.why) for c in r.corrections],
            columns=["claim", "published", "the paper concedes", "its authors later", "instead", "why"],
        )
        out.append(f"{NAMES[r.ledger.benchmark]}:\n\n{markdown_table(rows)}")
    return "\n".join(out)


def _section(result: Reproduction) -> str:
    rows = result.ledger.rows
    out = [f"## {NAMES[result.ledger.benchmark]}\n"]
    out += [f"{markdown_text(note)}\n" for note in result.notes]
    for place, group in rows.groupby("place", sort=False):
        matrix = group["key"].str.split(" > ").str[0].isin(MATRICES)
        plain = group[~matrix & ~group["verdict"].isin(["setting", "label"])]
        if not (len(plain) or matrix.any()):
            continue
        out.append(f"### {str(place)[0].upper()}{str(place)[1:]}\n")
        if matrix.any():
            out.append(_matrix_line(group[matrix]))
        if len(plain):
            out.append(_numbers(plain))
    return "\n".join(out)


def _matrix_line(cells: pd.DataFrame) -> str:
    lines = []
    for name, part in cells.groupby(cells["key"].str.split(" > ").str[0], sort=False):
        verdicts = ", ".join(f"{n} {v}" for v, n in part["verdict"].value_counts().items())
        far = part["difference"].abs().max()
        reach = "" if pd.isna(far) else "; to rounding error" if far < 1e-9 else f"; largest difference {far:.1g}"
        basis = ", ".join(b for b in part["basis"].unique() if b)
        lines.append(f"- `{name}`: {len(part)} cells, {verdicts}{reach}{f' (from the {basis})' if basis else ''}")
    return "\n".join(lines) + "\n"


def _numbers(rows: pd.DataFrame) -> str:
    frame = pd.DataFrame(
        {
            "number": rows["number"],
            "published": [shown(v) if isinstance(v, str) else repr(v) for v in rows["printed"]],
            "computed": [_computed(a, b) for a, b in zip(rows["printed"], rows["computed"], strict=True)],
            "verdict": rows["verdict"],
            "instead": rows["corrected"].replace("", "–"),
        }
    )
    if (frame["instead"] == "–").all():
        frame = frame.drop(columns="instead")
    notes = [f"- {markdown_text(text)}" for text in rows["reading"].unique() if text]
    return markdown_table(frame) + ("\n" + "\n".join(notes) + "\n" if notes else "")


def _computed(old: object, new: object) -> str:
    """The computed value with two decimals more than the printed one."""
    if isinstance(new, float) and isinstance(old, float) and abs(old) > 1e-3:
        return shown(new, len(repr(old).partition(".")[2]) + 2)
    return shown(new)


if __name__ == "__main__":
    scores, human, tasks, sample, target = sys.argv[1:]
    devai = reproduce("devai", scores, labels=human, instances=tasks)
    text = page(devai, reproduce("mrewardbench", anchor=sample, offline=True))
    with atomic_write(Path(target)) as file:
        file.write(text)
