"""`polyjudge prepare`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Context, Option

from polyjudge.panel.errors import UsageError
from polyjudge.paper.command import Benchmark
from polyjudge.questions import options as o

OPTIONS = (o.Overwrite,)


def prepare(
    ctx: Context,
    benchmark: Annotated[Benchmark, Argument(help="devai or mrewardbench.")],
    output: Annotated[
        Path, Option("-o", "--output", metavar="DIR", help="Folder for the plan, the items and the prompts.")
    ],
    workspaces: Annotated[
        Path | None, Option(metavar="DIR", help="The work to judge: DIR/FRAMEWORK/TASK (devai).")
    ] = None,
    instances: Annotated[Path | None, Option(metavar="FILE", help="The tasks (devai). Fetched when not given.")] = None,
    languages: Annotated[
        str | None, Option(metavar="A,B", help="Languages; all eight of the paper when not given.")
    ] = None,
    model: Annotated[
        str | None, Option("--translate", metavar="MODEL", help="Model that translates, as openai/gpt-4o.")
    ] = None,
    base_url: Annotated[str | None, Option(help="Address of the translating model.")] = None,
    translations: Annotated[
        Path | None, Option(metavar="DIR", help="Where translations are kept, to be edited.")
    ] = None,
    budget: Annotated[int, Option(min=1000, help="Characters of a workspace a judge sees.")] = 40_000,
    verdicts: Annotated[
        Path | None, Option(metavar="RUN", help="Take the verdicts out of a finished run instead.")
    ] = None,
) -> None:
    """Make plan and items to repeat a collection of the paper; then run polyjudge collect.

    Example: polyjudge prepare devai --workspaces workspaces --translate openai/gpt-4o -o devai
    """
    from polyjudge.panel.files import new_folder
    from polyjudge.paper import collection

    with new_folder(output, "prepare", overwrite=o.Overwrite.of(ctx).overwrite) as folder:
        if benchmark is Benchmark.mrewardbench:
            written = collection.write_mrewardbench(folder)
        else:
            from polyjudge.paper.run import devai_instances

            tasks = devai_instances(instances)
            if verdicts is not None:
                written = collection.write_verdicts(folder, collection.run_verdicts(verdicts), tasks)
            elif workspaces is None:
                raise UsageError("--workspaces DIR says where the work to judge is: DIR/FRAMEWORK/TASK.")
            else:
                named = collection.chosen_languages(languages)
                place = translations or Path("translations")
                said = collection.translations(tasks, named, place, model, base_url)
                for language, texts in collection.doubtful(said).items():
                    if texts:
                        where, some = f"{place}/{language}.jsonl", ", ".join(texts[:3])
                        print(f"polyjudge: read {len(texts)} doubtful texts in {where}: {some}", file=sys.stderr)
                written = collection.write_devai(folder, tasks, workspaces, said, budget)
    print(f"polyjudge: wrote {', '.join(p.name for p in written)} to {output}", file=sys.stderr)
