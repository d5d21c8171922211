"""What does a calibrator take off, and what is gained? By consensus, or by labels (METHODS 2, 3, 4, 22)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from polyjudge.answers.audit.advice import command
from polyjudge.answers.calibrate_labels import corrected_with_limits, fit_by_labels, people_cells, unlabelled_findings
from polyjudge.answers.margins import margins
from polyjudge.base.errors import PanelError, UsageError
from polyjudge.base.files import check_apart, check_new, read_json, write_text
from polyjudge.base.numbers import ci, percent
from polyjudge.base.numbers import threshold as pass_mark
from polyjudge.base.text import count, name, names, shell
from polyjudge.calibrate.baselines import Gain
from polyjudge.calibrate.by_labels import CARRY, LabelCalibrator
from polyjudge.calibrate.consensus import ConsensusCalibrator, interaction_parts
from polyjudge.calibrate.labelled import answers, panel_mean
from polyjudge.calibrate.passes import count_near, has_whole_numbers, split_at_mark
from polyjudge.calibrate.saved import load_calibrator, load_consensus
from polyjudge.panel import Panel
from polyjudge.read import read_panel, read_table, write_scores
from polyjudge.read.pairs import NOTHING_TO_WRITE
from polyjudge.read.table import open_table
from polyjudge.read.write import PASSES
from polyjudge.report.model import Finding, Report, Result, Section, Step, Table
from polyjudge.report.text import csv as as_csv
from polyjudge.stats.cells import mean_seen
from polyjudge.stats.interval import interval

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
MANY_NEAR = 0.05
"""Share of scores near a pass mark from which gating calibrated scores is warned of."""
CORRECTED = "one row an answer: the panel's mean, and what people would say (corrected)"


@dataclass(frozen=True, repr=False)
class Calibrated(Result):
    """What `calibrate` did.

    cells : language, judge, beta (subtracted), low, high (all together); by labels: language, labelled, subtract, and
        from three labelled languages on people (the mean that they would give), low, high
    gain : what that gains for who uses single judges (I7); closer : the same as points by which the root mean square
        distance of a judge's mean in a language to the panel's falls; None by labels
    """

    cells: pd.DataFrame
    findings: tuple[Finding, ...]
    calibrator_: ConsensusCalibrator | LabelCalibrator = field(repr=False)
    panel_: Panel = field(repr=False)
    gain: Gain | None = None
    closer: tuple[float, float, float] | None = None
    saved_: Path | None = None
    check_: str = ""
    is_of_pairs_: bool = False

    def report(self) -> Report:
        """The report."""
        p, by_labels, what = self.panel_, self.calibrator_.kind == "labels", "What is subtracted"
        head = {"language": "name", "judge": "name", "beta": "+points low high"}
        titles, shown = {"language": p.noun, "beta": f"subtracted, {p.unit_name}"}, self.cells
        if by_labels:
            head = {"language": "name", "labelled": "count", "subtract": "+points"}
            titles = {"language": p.noun, "subtract": "subtracted, after the map, on the scale of the labels"}
            titles["people"] = "people would give on average"
            head |= {"people": "points low high"} if shown["people"].notna().any() else {}
        else:
            shown = shown.assign(**{x: shown[x] * p.factor for x in ("beta", "low", "high")})
        after = [Step(self.check_, "see whether it helps on tasks that it has not seen")] if self.check_ else []
        if self.saved_ is not None:
            saved = shell(str(self.saved_))
            if not self.is_of_pairs_:
                after.append(Step(f"polyjudge apply NEW.csv {saved} -o new.csv", "calibrate other scores the same way"))
            if not by_labels:
                after.append(Step(f"polyjudge drift {saved} NEW.csv", "see later whether anything has changed"))
        section = Section("cells", what, tables=(Table("cells", what, shown, head, titles),))
        facts = (*p.read_facts, *p.notes)
        return Report("calibrate", "Calibrated scores", facts, self.findings, next=tuple(after), sections=(section,))


def calibrate(
    scores: Any,
    *,
    output: Path | None = None,
    save: Path | None = None,
    method: Literal["cbc", "cbc-weighted", "labels"] = "cbc",
    labels: Any = None,
    shrink: bool = False,
    clip: bool = False,
    unlabelled: Literal["empty", "carry"] = "empty",
    extend: Path | None = None,
    threshold: str | None = None,
    column: str = "calibrated",
    level: float = 0.95,
    overwrite: bool = False,
    **columns: Any,
) -> Calibrated:
    """Remove the effect of language on each judge: without labels (consensus-based calibration), or by labels.

    Without labels every judge's gap to the others is afterwards the same in all languages; the mean of all judges stays
    what it was, and so does every order inside one judge and language. By labels the panel's mean is corrected: one row
    an answer, what people would say of it.

    scores : file, table or panel of scores
    output : write the scores with one more column to this file; by labels, the corrected answers (CSV)
    save : write the calibrator to this file, for `polyjudge apply` and `polyjudge drift`
    method : cbc; cbc-weighted: judges count by their steadiness over languages; labels: by the scores' human column
    labels : human labels in a file of their own (columns task, label, language, ...): correct the panel by them
    shrink : keep only the share that is not noise, for few tasks (by labels always)
    clip : cut calibrated scores to the scale (by labels always)
    unlabelled : languages without labels stay empty, or carry: they get the others' correction, with its interval
    extend : a saved calibrator: add to it the new languages and judges of these scores, from a few tasks
    threshold : pass mark: '4' passes above 4, '>=4' from 4 on: one more column `passes`, the share that passes
    column : name of the new column
    level : confidence level of the intervals
    overwrite : replace files that exist

    Examples:
        polyjudge calibrate scores.csv -o calibrated.csv --save cal.json
        polyjudge calibrate scores.csv --threshold '>=4' -o calibrated.csv
        polyjudge calibrate swahili.csv --extend cal.json --save wider.json
        polyjudge calibrate scores.csv --labels gold.csv -o corrected.csv
    """
    _check_files(scores, output, save, (extend, labels), overwrite)
    by_labels = labels is not None or method == "labels"
    _check_options(by_labels, method, extend, threshold, level)
    if unlabelled == CARRY and not by_labels:
        raise UsageError("--unlabelled carry is about calibrating by labels: add --labels LABELS.")
    whole = read_panel(scores, **columns)
    if whole.pairs is not None and output is not None and not by_labels:
        raise UsageError(NOTHING_TO_WRITE)
    panel = margins(whole)
    _check_one_criterion(panel)
    if by_labels:
        corrector, levels = fit_by_labels(panel, labels, level, unlabelled)
        findings = (*corrector.findings(), *unlabelled_findings(panel, corrector, levels))
        result = Calibrated(people_cells(corrector, levels), findings, corrector, panel, saved_=save)
        if output is not None:
            _write_answers(corrected_with_limits(panel, corrector, levels), output)
    else:
        calibrator, result = _calibrated(panel, method, shrink, clip, extend, threshold, level)
        result = replace(result, saved_=save)
        if output is not None:
            passing = None if threshold is None else split_at_mark(panel, *pass_mark(threshold, panel.scale))
            options = {"column": column, "unseen": "keep", "overwrite": overwrite, "passing": passing, **columns}
            write_calibrated(scores, calibrator, output, **options)
    if save is not None:
        result.calibrator_.save(save, overwrite)
    written = _written_findings(result, output, column)
    return replace(
        result,
        findings=(*result.findings, *written),
        check_=_next_command(panel, by_labels, extend),
        is_of_pairs_=whole.pairs is not None,
    )


def _check_files(
    scores: Any, output: Path | None, save: Path | None, more_inputs: tuple[Any, ...], overwrite: bool
) -> None:
    """Refuse to write over an input, or over what exists."""
    inputs = [x for x in (scores, *more_inputs) if isinstance(x, (str, Path))]
    check_apart({"--output": output, "--save": save}, inputs)
    for path in (output, save):
        if path is not None:
            check_new(path, overwrite)


def _check_options(by_labels: bool, method: str, extend: Path | None, threshold: str | None, level: float) -> None:
    """Refuse options that do not go together."""
    if not 0.5 <= level < 1:
        raise UsageError(f"The level of an interval is at least 0.5 and below 1, such as 0.95, not {level:g}.")
    if by_labels and (extend is not None or method == "cbc-weighted"):
        raise UsageError("Labels correct the panel by themselves: leave out --extend and --method cbc-weighted.")
    if threshold is not None and (by_labels or extend is not None):
        raise UsageError("--threshold calibrates the pass rates of these scores: leave out --labels and --extend.")


def _check_one_criterion(panel: Panel) -> None:
    """Refuse several criteria at once."""
    if len(panel.criteria) > 1:
        first = next(iter(panel.criteria))
        raise PanelError(
            f"These scores have {len(panel.criteria)} criteria: {names(panel.criteria)}. Language may do something "
            f"else to each, so calibrate one at a time: --criteria {shell(first)}."
        )


def _calibrated(
    panel: Panel,
    method: str,
    shrink: bool,
    clip: bool,
    extend: Path | None,
    threshold: str | None,
    level: float,
) -> tuple[ConsensusCalibrator, Calibrated]:
    """The calibrator by consensus, and what it subtracts and gains."""
    if extend is None:
        _check_two_of_each(panel)
        made = ConsensusCalibrator("cbc-weighted" if method == "cbc-weighted" else "cbc", shrink, clip).fit(panel)
    else:
        made = load_consensus(extend).extend(panel)
    cells, closer = _cells(made, panel, level, extend is not None), closeness(made.gain_, panel.values().mean)
    gain = gain_findings(made.gain_, closer, panel, shrink) if extend is None else ()
    marks = _mark_findings(panel, made, threshold) if extend is None else ()
    findings = (*gain, *_most(cells, panel), *marks)
    return made, Calibrated(cells, findings, made, panel, made.gain_, closer)


def _mark_findings(panel: Panel, made: ConsensusCalibrator, threshold: str | None) -> list[Finding]:
    """Calibrated scores must not be gated where many stand on the mark."""
    if threshold is not None:
        mark, _ = pass_mark(threshold, panel.scale)
        beta = np.nan_to_num(made.beta_.to_numpy())
        near = 0.0 if panel.hashed else count_near(panel, beta, mark)
        if near <= MANY_NEAR:
            return []
        text = (
            f"{percent(near)} of scores lie so near the pass mark {mark:g} that calibrating may move them over it. Do "
            "not gate the calibrated scores: the column passes says who passes, and an audit with a threshold how many."
        )
        return [Finding("warning", "gate-mark", text, "Gain")]
    if not has_whole_numbers(panel):
        return []
    text = (
        "Scores are whole numbers, so many may stand on a pass mark: do not gate the calibrated ones. An audit with a "
        "threshold calibrates pass rates, and calibrating with one writes who passes (column passes)."
    )
    return [Finding("notice", "gate-whole", text, "Gain")]


def _written_findings(result: Calibrated, output: Path | None, column: str) -> list[Finding]:
    """Which files were written, and what they hold."""
    texts = []
    if output is not None:
        by_labels = result.calibrator_.kind == "labels"
        what = CORRECTED if by_labels else f"the scores and {_added(output, column)}"
        texts.append(f"{name(str(output), 200)} holds {what}.")
    if result.saved_ is not None:
        texts.append(f"{name(str(result.saved_), 200)} holds the calibrator.")
    return [Finding("info", "written", text, "Written") for text in texts]


def _next_command(panel: Panel, by_labels: bool, extend: Path | None) -> str:
    """A command that can show that calibrating does not help; an audit of the same scores is 0 by arithmetic."""
    if by_labels or extend is not None or panel.two_valued:
        return ""
    return command(panel, "compare")


def _added(output: Path, column: str) -> str:
    """What was written beside the scores: the new column, or one for each judge of a wide table."""
    columns = [column]
    if Path(str(output).partition("::")[0]).exists():  # no table of a database
        columns = list(open_table(str(output)).columns)
    new = [x for x in columns for made in (column, PASSES) if x == made or x.startswith(f"{made}_")]
    return f"the column{'s' if len(new) > 1 else ''} {names(new)}"


def _check_two_of_each(panel: Panel) -> None:
    """Refuse a panel in which there is no interaction to take off."""
    _, _, n_languages, n_judges = panel.shape
    if n_languages > 1 and n_judges > 1:
        return
    lacking = f"one {panel.noun}" if n_languages == 1 else "one judge"
    raise PanelError(
        f"These scores have {lacking}: without labels, calibrating compares judges over {panel.nouns} and needs two of "
        "each. With people's labels: --labels FILE. Who wins and what drifts need no calibrating: polyjudge audit."
    )


def _cells(made: ConsensusCalibrator, panel: Panel, level: float, extended: bool) -> pd.DataFrame:
    """language, judge, beta, low, high: simultaneous by section 17; of what was added, by its standard errors."""
    import pandas as pd
    from scipy.special import stdtrit

    b, se = made.beta_, made.se_
    frame = pd.DataFrame([(x, j) for x in b.index for j in b.columns], columns=["language", "judge"])
    beta = b.to_numpy().ravel()
    half = np.full(beta.shape, np.nan)
    if not extended and panel.units > 1:
        found = panel.values()
        x = interaction_parts(found)[0]
        every = interval(x.reshape(len(x), -1), level=level, together=beta.size)
        half = made.kept_ * every.q * every.se
    elif extended and made.units_ > 5:
        half = stdtrit(made.units_ - 1, 1 - (1 - level ** (1 / beta.size)) / 2) * se.to_numpy().ravel()
    return frame.assign(beta=beta, low=beta - half, high=beta + half)


def closeness(gain: Gain, means: Array) -> tuple[float, float, float]:
    """A gain as points: fall of the root mean square distance of the judges' means in a language to the panel's."""
    apart = float(mean_seen((means - np.reshape(mean_seen(means, 1), (-1, 1))) ** 2))
    middle, low, high = (
        float(np.sqrt(apart) - np.sqrt(max(apart - x, 0.0))) for x in (gain.estimate, gain.low, gain.high)
    )
    return middle, low, high


def gain_findings(gain: Gain, closer: tuple[float, float, float], panel: Panel, shrunk: bool = False) -> list[Finding]:
    """Whether calibrating is worth it for who uses single judges (I7)."""
    few = [axis for axis, size in ((panel.noun, panel.shape[2]), ("judge", panel.shape[3])) if size < 2]
    if few:
        text = f"Nothing is subtracted: there is one {few[0]}, and calibrating needs two."
        return [Finding("notice", "gain-none", text)]
    if not np.isfinite(gain.low):
        text = f"{count(panel.units, 'task')} are too few to say what calibrating gains."
        return [Finding("notice", "gain-few", text, "Gain")]
    if gain.low > 0:
        middle, low, high = (panel.factor * x for x in closer)
        text = (
            f"Calibrating brings the judges' means in a {panel.noun} closer to the panel's: their distance (root mean "
            f"square) falls by {ci(middle, low, high, panel.unit_name)}. If you average all judges, nothing changes."
        )
        return [Finding("info", "gain", text, "Gain")]
    text = f"Calibrating {'adds error' if gain.high < 0 else 'may only add noise'}. Score more tasks"
    text += "." if shrunk else ", or keep less of it (--shrink)."
    return [Finding("warning", "gain-open", text, "Gain")]


def _most(cells: pd.DataFrame, panel: Panel) -> list[Finding]:
    """The largest correction, and what cannot be calibrated."""
    out = []
    lost = cells[cells["beta"].isna()]
    if len(lost):
        pairs = names([f"{j} in {x}" for x, j in zip(lost["language"], lost["judge"], strict=True)])
        text = f"There are no scores to compare with, so nothing is subtracted from {pairs}."
        out.append(Finding("warning", "unknown", text, "Gain"))
    size = cells["beta"].abs().round(9)
    if size.max() > 1e-9 * panel.width:
        top = cells.iloc[int(size.argmax())]
        sign = panel.factor if top["beta"] > 0 else -panel.factor
        low, high = sorted((sign * top["low"], sign * top["high"]))
        shown = ci(sign * top["beta"], low, high, panel.unit_name)
        where = {"language": top["language"], "judge": top["judge"]}
        how = "lowered" if top["beta"] > 0 else "raised"
        text = f"{name(top['judge'])}'s scores in {name(top['language'])} are {how} most, by {shown}."
        out.append(Finding("info", "largest", text, "Gain", where))
    return out


# --- with a calibrator that was saved ---


@dataclass(frozen=True, repr=False)
class Applied(Result):
    """What `apply` did: rows of the table written, and how many of them stayed as they were."""

    rows: int
    unchanged: int
    findings: tuple[Finding, ...]

    def report(self) -> Report:
        """The report."""
        return Report("apply", "Calibrated scores", (f"{count(self.rows, 'score')} read.",), self.findings)


def apply(
    scores: Any,
    calibrator: Path,
    *,
    output: Path,
    weights: Path | None = None,
    column: str = "calibrated",
    unseen: Literal["error", "keep"] = "error",
    overwrite: bool = False,
    **columns: Any,
) -> Applied:
    """Apply a saved calibrator to other scores: one more column, the rows and all else as they were.

    From one score to billions: tables in files and databases are worked on where they are. A calibrator by labels, and
    weights, give one row an answer instead (CSV): what people would say of it, or the weighted mean of the judges.

    scores : file or table of scores
    calibrator : what `polyjudge calibrate --save` wrote
    output : the file to write
    weights : weights of the judges, as JSON or CSV (judge, weight), such as weights.csv of `polyjudge humans -o`
    column : name of the new column
    unseen : error, or keep: scores of languages and judges that the calibrator does not know stay as they are
    overwrite : replace the output if it exists

    Examples:
        polyjudge apply new.csv cal.json -o calibrated.csv
        polyjudge apply scores.parquet cal.json -o calibrated.parquet --unseen keep
        polyjudge apply new.csv cal.json --weights people/weights.csv -o answers.csv
    """
    check_apart({"--output": output}, [x for x in (scores, calibrator, weights) if isinstance(x, (str, Path))])
    check_new(output, overwrite)
    made = load_calibrator(calibrator)
    if made.kind == "labels" or weights is not None:
        return _by_answer(scores, made, output, weights, unseen, columns)
    options = {"column": column, "unseen": unseen, "overwrite": overwrite, **columns}
    rows, unchanged = write_calibrated(scores, made, output, **options)  # type: ignore[arg-type]
    text = f"{name(str(output), 200)} holds the scores, calibrated in {_added(output, column)}."
    found = [Finding("info", "written", text, "Written")]
    if unchanged:
        text = f"{count(unchanged, 'score')} left as before: the calibrator does not know the language or the judge."
        found.insert(0, Finding("notice", "unseen", text, "Unseen"))
    return Applied(rows, unchanged, tuple(found))


def _by_answer(
    scores: Any, made: Any, output: Path, weights: Path | None, unseen: str, columns: dict[str, Any]
) -> Applied:
    """One row an answer: corrected by labels, or the weighted mean of the judges' calibrated scores."""
    panel = read_panel(scores, **columns)
    seen = int(np.isfinite(panel.scores).sum())
    if (panel.weight != 1).any():
        raise PanelError("Answers are written one by one: read at most 100,000 tasks.")
    if made.kind == "labels" and weights is not None:
        raise UsageError("This calibrator was fitted by labels to the mean of the judges: weights do not go with it.")
    if weights is None:
        frame, what = made.corrected(panel), CORRECTED
    else:
        mean = panel_mean(made.transform(panel, unseen=unseen), read_weights(panel, weights))
        frame, what = answers(panel, weighted=mean), "one row an answer: weighted, the mean of its calibrated scores"
    _write_answers(frame, output)
    findings = _without_labels_findings(panel, made) if weights is None else []
    findings.append(Finding("info", "written", f"{name(str(output), 200)} holds {what}.", "Written"))
    return Applied(seen, 0, tuple(findings))


def _without_labels_findings(panel: Panel, made: Any) -> list[Finding]:
    """The languages of these scores that had no labels when the calibrator was saved, and what they are given."""
    n_labels = dict(zip(made.languages_, made.n_, strict=True))
    without = [language for language in panel.languages if n_labels.get(language, 0) == 0]
    if not without:
        return []
    text = f"{names(without)} had no labels when this was saved: "
    if made.unlabelled == CARRY:
        text += "the correction is carried over from the others, and its interval is in what `calibrate` wrote."
        return [Finding("notice", "unlabelled", text, "Carried")]
    text += f"{'its answers are' if len(without) == 1 else 'their answers are'} left empty."
    return [Finding("notice", "unlabelled", text, "Empty")]


def _write_answers(frame: pd.DataFrame, output: Path) -> None:
    if Path(output).suffix.lower() != ".csv":
        raise UsageError(f"Answers are written as CSV: name a .csv file, not {name(str(output), 200)}.")
    write_text(output, as_csv(frame))


def read_weights(panel: Panel, path: Path) -> Array:
    """Weights of the judges, adding up to 1: JSON of judges and weights, or a table with these columns."""
    found = read_json(path) if str(path).endswith(".json") else read_table(path).to_dict("records")
    found = found.get("weights", found) if isinstance(found, dict) else found
    pairs: dict[str, Any] = found if isinstance(found, dict) else {str(x.get("judge")): x.get("weight") for x in found}
    missing = [x for x in panel.judges if x not in pairs]
    if missing:
        raise UsageError(f"{path} has no weight for {names(missing)}. It needs the columns judge and weight.")
    try:
        w = np.array([float(pairs[x]) for x in panel.judges])
    except (TypeError, ValueError):
        raise UsageError(f"{path}: a weight is not a number.") from None
    if not np.isfinite(w).all() or (w < 0).any() or w.sum() <= 0:
        raise UsageError(f"{path}: weights are numbers from 0 on, and not all 0.")
    return np.asarray(w / w.sum())


def write_calibrated(scores: Any, made: ConsensusCalibrator, output: Path, **options: Any) -> tuple[int, int]:
    """Write scores with the calibrated ones beside them; rows, and those that stayed as they were."""
    limits = made.scale_ if made.clip else None
    return write_scores(scores, output, made.table(), limits=limits, of_criterion=made.criterion_, **options)
