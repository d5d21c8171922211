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


TEXT = 'first line, "quoted"; more\nsecond line\n\n# no comment\tend'


def score_columns(folder: Path) -> pd.DataFrame:
    """A column per judge beside long texts, times and the judges' mean."""
    wide = long().pivot(index=["task", "language"], columns="judge", values="score").add_prefix("score_")
    wide = wide.assign(score_mean=wide.mean(axis=1).round(2), latency_ms=9000).reset_index()
    wide.insert(2, "prompt", TEXT)
    _csv(wide.assign(created_at="2026-03-01T10:00:00Z"), folder / "score_columns.csv")
    return long()


def german(folder: Path) -> pd.DataFrame:
    """As a German Excel saves it, with German titles."""
    frame = long().assign(score=lambda f: f["score"] + 0.5)
    titles = {"task": "Aufgabe", "language": "Sprache", "judge": "Richter", "score": "Punktzahl"}
    text = frame.rename(columns=titles).to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")
    (folder / "german.csv").write_bytes(b"\xef\xbb\xbfsep=;\r\n" + text.encode())
    return frame


def commented(folder: Path) -> pd.DataFrame:
    (folder / "commented.csv").write_text("# made by runner 2.1\n# seed 3, all\n\n" + long().to_csv(index=False))
    return long()


def titled(folder: Path) -> pd.DataFrame:
    (folder / "titled.csv").write_text("Results of run 7\n\n" + long().to_csv(index=False))
    return long()


def hash_header(folder: Path) -> pd.DataFrame:
    (folder / "hash_header.csv").write_text("# " + long().to_csv(index=False, sep="\t"))
    return long()


def by_both(folder: Path) -> pd.DataFrame:
    for (lang, j), part in long().groupby(["language", "judge"], sort=False):
        _csv(part[["task", "score"]], folder / "by_both" / f"{j}_{lang}.csv")
    return long()


def two_models(folder: Path) -> pd.DataFrame:
    """What is judged and who judges are both models; runs and times beside them."""
    parts = [long().assign(model=m, score=lambda f, by=by: f["score"] + by) for m, by in (("ours", 2), ("theirs", -2))]
    frame = pd.concat(parts).rename(columns={"judge": "judge_model"})
    frame["timestamp"] = pd.date_range("2026-01-01", periods=len(frame), freq="s").astype(str)
    _csv(frame.assign(cost=0.01), folder / "two_models.csv")
    return long()


def out_of(folder: Path) -> pd.DataFrame:
    frame = long().assign(score=lambda f: f["score"] % 11)
    _csv(frame.assign(score=frame["score"].astype(str) + "/10"), folder / "out_of.csv")
    return frame


def out_of_words(folder: Path) -> pd.DataFrame:
    frame = long().assign(score=lambda f: f["score"] % 5 + 1)
    _csv(frame.assign(score=frame["score"].astype(str) + " out of 5"), folder / "out_of_words.csv")
    return frame


def no_score_number(folder: Path) -> pd.DataFrame:
    frame = long()
    frame.loc[[3, 20], "score"] = -1
    _csv(frame, folder / "no_score_number.csv")
    return long().drop(index=[3, 20])


def tabs(folder: Path) -> pd.DataFrame:
    _csv(long().assign(answer=TEXT), folder / "tabs.txt", sep="\t")
    return long()


def packed_csv(folder: Path) -> pd.DataFrame:
    _csv(long(), folder / "packed.csv.gz")
    return long()


def nulls(folder: Path) -> pd.DataFrame:
    rows = long().assign(why=TEXT).to_dict("records")
    rows[3]["score"] = None
    del rows[20]["score"]
    _jsonl(rows, folder / "nulls.jsonl")  # type: ignore[arg-type]
    return long().drop(index=[3, 20])


def dictionary(folder: Path) -> pd.DataFrame:
    """Every column a category, the scores as text."""
    long().astype({"score": str}).astype("category").to_parquet(folder / "dictionary.parquet")
    return long()


def repeated(folder: Path) -> pd.DataFrame:
    _csv(pd.concat([long(), long().iloc[:4]]), folder / "repeated.csv")
    return long()


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
    "score_columns.csv": score_columns,
    "german.csv": german,
    "commented.csv": commented,
    "titled.csv": titled,
    "hash_header.csv": hash_header,
    "by_both/*.csv": by_both,
    "two_models.csv": two_models,
    "out_of.csv": out_of,
    "out_of_words.csv": out_of_words,
    "no_score_number.csv": no_score_number,
    "tabs.txt": tabs,
    "packed.csv.gz": packed_csv,
    "nulls.jsonl": nulls,
    "dictionary.parquet": dictionary,
    "repeated.csv": repeated,
}
"""File, as the user names it -> its maker."""
