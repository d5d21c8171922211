"""Fuzz the readers: raw bytes, tables put together from hostile pieces, and eval tools' files with fields changed."""

import gzip
import io
import json
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyjudge"]):
    import polyjudge as pj
    import polyjudge.panel.panel
    import polyjudge.read
    from polyjudge.read import read_panel

import damage
import pandas as pd
from harness import fuzz

FOLDER = Path(tempfile.mkdtemp())
HEADERS = (
    "task",
    "item",
    "language",
    "lang",
    "judge",
    "model",
    "score",
    "rating",
    "framework",
    "",
    "Score",
    "x",
    "a b",
)
CELLS = (
    "t1",
    "t2",
    "en",
    "sw",
    "A",
    "B",
    "1",
    "2.5",
    "-3e5",
    "",
    "NaN",
    "inf",
    "1e999",
    '"',
    '""',
    "\x00",
    "\u202e",
    "١٢",
)
CELLS += ("=1+1", "a,b", "a\nb", "\r", "é", "\ufeff", "  A", "a ", "null", "None", "true", "0x10", "1_000", "9" * 400)
warnings.simplefilter("ignore")

TOOLS = Path(__file__).parents[1] / "tests" / "fixtures" / "tools"
PAIR = {
    "question_id": 1, "model_1": "a", "model_2": "b", "g1_winner": "model_1", "g2_winner": "tie",
    "judge": ["gpt-4", "pair"], "turn": 1, "tstamp": 1.0,
}  # fmt: skip
EVENT = {
    "eventName": "gen_ai.evaluation.result",
    "attributes": [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "q"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}},
        {"key": "language", "value": {"stringValue": "en"}},
    ],
}
OTEL = {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"logRecords": [EVENT, EVENT]}]}]}


def records(path: Path) -> list[object]:
    """The objects of a tool's file: one in each line, or the whole."""
    text = path.read_text()
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


REAL = [records(path) for path in sorted(TOOLS.glob("*.json*"))]
(promptfoo,) = records(TOOLS / "promptfoo.json")
REAL += [promptfoo["results"]["results"][:6], [PAIR, {**PAIR, "turn": 2}], [OTEL, OTEL]]
"""Files of eval tools; of promptfoo also the results one to a line."""


def rows(data: atheris.FuzzedDataProvider) -> list[list[str]]:
    width = data.ConsumeIntInRange(1, 7)
    usual = not data.ConsumeBool()
    header = ["task", "language", "judge", "score"] if usual else []
    header += [data.PickValueInList(list(HEADERS)) for _ in range(width if not usual else width // 3)]
    body = []
    for i in range(8 + data.ConsumeIntInRange(0, 8)):
        row = [data.PickValueInList(list(CELLS)) for _ in header]
        if usual and data.ConsumeIntInRange(0, 3):
            row[:4] = [f"t{i // 4}", ("en", "sw")[i // 2 % 2], "AB"[i % 2], str(data.ConsumeIntInRange(0, 9))]
        if data.ConsumeIntInRange(0, 9) == 0:
            row = row[: data.ConsumeIntInRange(0, len(row))]
        body.append(row)
    return [header, *body]


def tool_file(data: atheris.FuzzedDataProvider) -> Path:
    """A tool's file with up to four places changed."""
    real = damage.of_data(data, data.PickValueInList(REAL))
    path = FOLDER / ("tool.jsonl" if len(real) != 1 else "tool.json")
    lines = [json.dumps(record) for record in real]
    path.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
    return path


def target(data: atheris.FuzzedDataProvider) -> None:
    if data.ConsumeIntInRange(0, 2) == 0:
        pj.check(read_panel(tool_file(data)))
        return
    kind = data.PickValueInList(["csv", "csv.gz", "jsonl", "parquet", "raw csv", "raw gz", "raw jsonl", "raw parquet"])
    name, _, raw = kind.rpartition(" ")[::-1] if " " in kind else (kind, "", "")
    extension = {"gz": "csv.gz"}.get(name, name)
    path = FOLDER / f"scores.{extension}"
    if raw:
        path.write_bytes(data.ConsumeBytes(4096))
    else:
        header, *body = rows(data)
        text = "\n".join(",".join(row) for row in [header, *body]).encode("utf-8", "surrogatepass")
        if extension == "csv":
            path.write_bytes(text)
        elif extension == "csv.gz":
            packed = gzip.compress(text)
            path.write_bytes(packed[: data.ConsumeIntInRange(0, len(packed))] if data.ConsumeBool() else packed)
        elif extension == "jsonl":
            path.write_text("\n".join(json.dumps(dict(zip(header, row, strict=False))) for row in body))
        else:
            frame = pd.DataFrame([r + [""] * (len(header) - len(r)) for r in body], columns=range(len(header)))
            frame.columns = [f"{h}{i}" if header.count(h) > 1 else h for i, h in enumerate(header)]
            buffer = io.BytesIO()
            frame.to_parquet(buffer)
            content = bytearray(buffer.getvalue())
            if content and data.ConsumeBool():
                content[data.ConsumeIntInRange(0, len(content) - 1)] ^= 0xFF
            path.write_bytes(bytes(content))
    panel = read_panel(path)
    repr(panel)
    panel.to_long()


fuzz(target, (pj.PolyjudgeError,))
