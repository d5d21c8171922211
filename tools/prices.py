"""Refresh the shipped prices from the map that LiteLLM maintains (MIT licence, Berri AI).

    pip download --no-deps litellm && python tools/prices.py litellm-*.whl
    python tools/prices.py model_prices_and_context_window.json --date 2026-11-16

Kept are chat models and their dollars per million tokens: input, output, cached input, input written to a cache, output
that is not shown, and the share that a batch costs. Names become the ones of a plan (provider/model).
"""

from __future__ import annotations

import argparse
import datetime
import json
import zipfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src" / "polyjudge" / "collect" / "prices.json"
FIELDS = (
    ("input", "input_cost_per_token"),
    ("output", "output_cost_per_token"),
    ("cached", "cache_read_input_token_cost"),
    ("write", "cache_creation_input_token_cost"),
    ("reasoning", "output_cost_per_reasoning_token"),
)
PROVIDERS = {
    "openai": "openai", "anthropic": "anthropic", "gemini": "google", "mistral": "mistral", "xai": "xai",
    "deepseek": "deepseek", "groq": "groq", "together_ai": "together", "fireworks_ai": "fireworks",
    "openrouter": "openrouter", "cohere_chat": "cohere", "cohere": "cohere", "bedrock": "bedrock",
    "bedrock_converse": "bedrock", "azure": "openai/azure", "perplexity": "perplexity", "moonshot": "moonshot",
    "dashscope": "dashscope", "cerebras": "cerebras", "sambanova": "sambanova",
}  # fmt: skip
"""Providers of LiteLLM that a plan can name, and what it calls them."""


def main() -> None:
    """Write the price file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="a wheel of litellm, or its JSON")
    parser.add_argument(
        "--date", default=f"{datetime.date.today()}", help="the day the prices were taken, today if not given"
    )
    given = parser.parse_args()
    raw, version = read(given.source)
    models = dict(sorted(kept(raw).items()))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(prices)}" for name, prices in models.items())
    head = {
        "date": given.date,
        "currency": "USD",
        "unit": "per million tokens",
        "fields": [*(name for name, _ in FIELDS), "batch"],
        "source": f"LiteLLM {version}, model_prices_and_context_window.json, MIT licence, (c) 2023 Berri AI",
        "note": "List prices; they change. Check them with your provider, or give your own (price: in a plan).",
    }
    text = json.dumps(head, indent=1)[:-2] + f',\n "models": {{\n{lines}\n }}\n}}\n'
    json.loads(text)
    TARGET.write_text(text, encoding="utf-8")
    print(f"{len(models)} models, prices of {head['date']}, {len(text) / 1000:.0f} kB -> {TARGET}")


def read(source: Path) -> tuple[dict[str, Any], str]:
    """The map and its version."""
    if source.suffix != ".whl":
        return json.loads(source.read_text(encoding="utf-8")), ""
    with zipfile.ZipFile(source) as wheel:
        name = next(n for n in wheel.namelist() if "model_prices_and_context_window" in n)
        return json.loads(wheel.read(name)), source.name.split("-")[1]


def kept(raw: dict[str, Any]) -> dict[str, list[float | None]]:
    """Name in a plan -> prices in the order of the fields, without what is missing at the end."""
    out: dict[str, list[float | None]] = {}
    for name, entry in raw.items():
        provider = PROVIDERS.get(entry.get("litellm_provider", ""))
        if provider is None or entry.get("mode") not in ("chat", "responses"):
            continue
        prices: list[float | None] = [
            round(entry[key] * 1e6, 6) if isinstance(entry.get(key), (int, float)) else None for _, key in FIELDS
        ]
        if prices[0] is None or prices[1] is None or prices[0] + prices[1] <= 0:
            continue
        if prices[4] == prices[1]:
            prices[4] = None
        batch = entry.get("input_cost_per_token_batches")
        prices.append(round(batch / entry["input_cost_per_token"], 3) if batch and prices[0] else None)
        if prices[5] == 0.5:
            prices[5] = None
        while prices[-1] is None:
            prices.pop()
        bare = name.split("/", 1)[1] if name.split("/", 1)[0] in (*PROVIDERS, provider) and "/" in name else name
        if not bare.startswith(("1024-x", "ft:", "us/", "eu/", "global/", "us-", "eu-", "ap-", "ca-", "sa-")):
            out.setdefault(f"{provider}/{bare}", prices)
    return out


if __name__ == "__main__":
    main()
