"""The files a new user brings, one for each shape. Each maker writes its file and returns the scores that are in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

TASKS = [f"q{i}" for i in range(1, 6)]
LANGUAGES = ["en", "de", "pt-BR"]
JUDGES = ["gpt-4o", "claude", "gemini"]
KEYS = ["task", "language", "judge"]


def long() -> pd.DataFrame:
    """task, language, judge, score: whole numbers from 0 to 100."""
    rows = [
        (t, lang, j, (i * 37 + k * 23 + m * 11 + i * k * m * 5) % 101)
        for i, t in enumerate(TASKS)
        for k, lang in enumerate(LANGUAGES)
        for m, j in enumerate(JUDGES)
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "score"])


def passed() -> pd.DataFrame:
    return long().assign(score=lambda f: (f["score"] > 50).astype(float))


def _csv(frame: pd.DataFrame, path: Path, **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, **options)  # type: ignore[call-overload]


def _jsonl(rows: list[dict[str, object]], path: Path) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")


def long_csv(folder: Path) -> pd.DataFrame:
    _csv(long().rename(columns={"task": "prompt_id", "judge": "grader", "language": "locale"}), folder / "long.csv")
    return long()


def index_column(folder: Path) -> pd.DataFrame:
    """As pandas writes a frame when nobody says index=False, with titles as people write them."""
    titles = {"task": "Question ID", "language": "Language", "judge": "Judge Model", "score": "Rating (0-100)"}
    long().rename(columns=titles).to_csv(folder / "index_column.csv")
    return long()


def european(folder: Path) -> pd.DataFrame:
    frame = long().assign(score=lambda f: f["score"] + 0.5)
    _csv(frame, folder / "european.csv", sep=";", decimal=",")
    return frame


def wide_judges(folder: Path) -> pd.DataFrame:
    wide = long().pivot(index=["task", "language"], columns="judge", values="score").reset_index()
    _csv(wide.assign(tokens=9000), folder / "wide_judges.csv")
    return long()


def wide_languages(folder: Path) -> pd.DataFrame:
    wide = long().pivot(index=["task", "judge"], columns="language", values="score").add_prefix("score_").reset_index()
    _csv(wide, folder / "wide_languages.csv")
    return long()


def wide_both(folder: Path) -> pd.DataFrame:
    frame = long().assign(name=lambda f: f["judge"] + "_" + f["language"])
    _csv(frame.pivot(index="task", columns="name", values="score").reset_index(), folder / "wide_both.csv")
    return long()


def wide_rows(folder: Path) -> pd.DataFrame:
    frame = long().assign(name=lambda f: f["language"] + "/" + f["judge"])
    wide = frame.pivot(index="task", columns="name", values="score")
    _csv(wide, folder / "wide_rows.csv")
    return frame.assign(task=frame["task"].map({t: f"row {i + 1}" for i, t in enumerate(wide.index)}))


def nested(folder: Path) -> pd.DataFrame:
    rows = [
        {"sample": {"id": t, "metadata": {"language": lang}}, "grade": {"judge": j, "score": s}}
        for t, lang, j, s in long().itertuples(index=False)
    ]
    _jsonl(rows, folder / "nested.jsonl")
    return long()


def document(folder: Path) -> pd.DataFrame:
    body = {"run": 3, "results": long().rename(columns={"task": "item_id"}).to_dict("records")}
    (folder / "document.json").write_text(json.dumps(body))
    return long()


def judgments(folder: Path) -> pd.DataFrame:
    rows = [
        {"id": t, "lang": lang, "judgments": part[["judge", "score"]].to_dict("records")}
        for (t, lang), part in long().groupby(["task", "language"], sort=False)
    ]
    _jsonl(rows, folder / "judgments.jsonl")
    return long()


def nested_wide(folder: Path) -> pd.DataFrame:
    rows = [
        {"id": t, "lang": lang, "scores": dict(zip(part["judge"], part["score"].tolist(), strict=True))}
        for (t, lang), part in long().groupby(["task", "language"], sort=False)
    ]
    _jsonl(rows, folder / "nested_wide.jsonl")
    return long()


def excel(folder: Path) -> pd.DataFrame:
    _workbook(folder / "scores.xlsx", {"Sheet1": long()})
    return long()


def excel_sheets(folder: Path) -> pd.DataFrame:
    parts = {str(lang): part.drop(columns="language") for lang, part in long().groupby("language", sort=False)}
    _workbook(folder / "sheets.xlsx", parts)
    return long()


def _workbook(path: Path, sheets: dict[str, pd.DataFrame]) -> None:
    """A minimal workbook (Office Open XML), so that no package is needed to write one."""
    from xml.sax.saxutils import escape
    from zipfile import ZipFile

    def cell(value: object) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    def sheet(frame: pd.DataFrame) -> str:
        rows = [list(frame.columns), *frame.itertuples(index=False)]
        body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>'

    base = "http://schemas.openxmlformats.org"
    main, office = f"{base}/spreadsheetml/2006/main", f"{base}/officeDocument/2006/relationships"
    names = list(sheets)
    with ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{base}/package/2006/content-types"><Default Extension="rels" ContentType="application/'
            'vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.'
            'spreadsheetml.sheet.main+xml"/></Types>',
        )
        book.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{base}/package/2006/relationships"><Relationship Id="r1" Type="{office}/'
            'officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(names, 1))
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>'
        )
        links = "".join(
            f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, len(names) + 1)
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{base}/package/2006/relationships">{links}</Relationships>',
        )
        for i, n in enumerate(names, 1):
            book.writestr(f"xl/worksheets/sheet{i}.xml", sheet(sheets[n]))


def booleans(folder: Path) -> pd.DataFrame:
    frame = passed().rename(columns={"score": "is_correct"}).astype({"is_correct": bool})
    _jsonl(frame.to_dict("records"), folder / "booleans.jsonl")  # type: ignore[arg-type]
    return passed()


def pass_fail(folder: Path) -> pd.DataFrame:
    frame = passed().assign(passed=lambda f: f["score"].map({1.0: "PASS", 0.0: "fail"})).drop(columns="score")
    _csv(frame, folder / "pass_fail.csv")
    return passed()


def yes_no(folder: Path) -> pd.DataFrame:
    frame = passed().assign(label=lambda f: f["score"].map({1.0: "Yes", 0.0: "No"})).drop(columns="score")
    _csv(frame, folder / "yes_no.csv")
    return passed()


def grades(folder: Path) -> pd.DataFrame:
    letters = list("FDCBA")
    frame = long().assign(score=lambda f: f["score"] % 5)
    _csv(frame.assign(score=frame["score"].map(lambda s: letters[s])), folder / "grades.csv")
    return frame


def percent(folder: Path) -> pd.DataFrame:
    _csv(long().assign(score=lambda f: f["score"].astype(str) + "%"), folder / "percent.csv")
    return long()


def gaps(folder: Path) -> pd.DataFrame:
    frame = long().astype({"score": object})
    frame.loc[[3, 20, 31], "score"] = ["N/A", "-", "NaN"]
    _csv(frame, folder / "gaps.csv")
    return long().drop(index=[3, 20, 31])


def winners(folder: Path) -> pd.DataFrame:
    """Each pair was shown in both orders; A is the one shown first."""
    frame = _margins()
    rows = []
    for t, lang, j, s in frame.itertuples(index=False):
        for first, second, sign in (("ours", "theirs", 1), ("theirs", "ours", -1)):
            won = {1: "model_a", -1: "model_b", 0: "tie"}[int(s) * sign]
            rows.append(
                {"question_id": t, "language": lang, "judge": j, "model_a": first, "model_b": second, "winner": won}
            )
    _csv(pd.DataFrame(rows), folder / "winners.csv")
    return frame


def swapped(folder: Path) -> pd.DataFrame:
    frame = _margins()
    rows = [
        {
            "item": t,
            "language": lang,
            "judge": j,
            "swapped": turned,
            "winner": {1: "A", -1: "B", 0: "tie"}[int(s) * sign],
        }
        for t, lang, j, s in frame.itertuples(index=False)
        for turned, sign in ((False, 1), (True, -1))
    ]
    _csv(pd.DataFrame(rows), folder / "swapped.csv")
    return frame


def _margins() -> pd.DataFrame:
    return long().assign(score=lambda f: f["score"] % 3 - 1.0)


def by_language(folder: Path) -> pd.DataFrame:
    for lang, part in long().groupby("language", sort=False):
        _csv(part.drop(columns="language"), folder / "by_language" / f"scores_{lang}.csv")
    return long()


def by_judge(folder: Path) -> pd.DataFrame:
    for j, part in long().groupby("judge", sort=False):
        _csv(part.drop(columns="judge"), folder / "by_judge" / f"{j}.csv")
    return long()


def task_names(folder: Path) -> pd.DataFrame:
    frame = long().assign(subset=lambda f: "mmlu/" + f["language"] + "/all").drop(columns="language")
    _csv(frame, folder / "task_names.csv")
    return long()


def lone_model(folder: Path) -> pd.DataFrame:
    _csv(long().rename(columns={"judge": "model"}), folder / "lone_model.csv")
    return long()


def packed(folder: Path) -> pd.DataFrame:
    _jsonl(long().to_dict("records"), folder / "packed.jsonl")  # type: ignore[arg-type]
    import gzip

    (folder / "packed.jsonl.gz").write_bytes(gzip.compress((folder / "packed.jsonl").read_bytes()))
    (folder / "packed.jsonl").unlink()
    return long()


def parquet(folder: Path) -> pd.DataFrame:
    long().to_parquet(folder / "scores.parquet")
    return long()


def database(folder: Path) -> pd.DataFrame:
    import duckdb

    frame = long()
    with duckdb.connect(str(folder / "eval.duckdb")) as con:
        con.register("held", frame)
        con.execute("CREATE TABLE scores AS SELECT * FROM held")
    return frame


MAKERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    "long.csv": long_csv,
    "index_column.csv": index_column,
    "european.csv": european,
    "scores.parquet": parquet,
    "packed.jsonl.gz": packed,
    "eval.duckdb::scores": database,
    "wide_judges.csv": wide_judges,
    "wide_languages.csv": wide_languages,
    "wide_both.csv": wide_both,
    "wide_rows.csv": wide_rows,
    "nested.jsonl": nested,
    "nested_wide.jsonl": nested_wide,
    "document.json": document,
    "judgments.jsonl": judgments,
    "scores.xlsx": excel,
    "sheets.xlsx": excel_sheets,
    "booleans.jsonl": booleans,
    "pass_fail.csv": pass_fail,
    "yes_no.csv": yes_no,
    "grades.csv": grades,
    "percent.csv": percent,
    "gaps.csv": gaps,
    "winners.csv": winners,
    "swapped.csv": swapped,
    "by_language/*.csv": by_language,
    "by_judge/*.csv": by_judge,
    "task_names.csv": task_names,
    "lone_model.csv": lone_model,
}
"""File, as the user names it -> its maker."""
