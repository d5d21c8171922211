"""From results to findings: which sentence an audit says, and how severe it is."""

from __future__ import annotations

from polyjudge.analyse.findings import Finding, ranked
from polyjudge.analyse.reversal import RankReversals
from polyjudge.analyse.ties import TiedSets
from polyjudge.analyse.uncertainty import Uncertainty
from polyjudge.calibrate import ConsensusCalibrator
from polyjudge.panel import Panel, clean


def conclude(
    panel: Panel,
    calibrator: ConsensusCalibrator,
    left_out: dict[str, str],
    *,
    uncertainty: Uncertainty,
    reversals: RankReversals,
    ranks: TiedSets,
) -> list[Finding]:
    """The findings of an audit, most severe first."""
    out = [*_reversal(reversals), *_cells(uncertainty), *_order(panel, ranks)]
    out += [Finding("info", f"left-out-{part}", f"Left out: {part}. {why}") for part, why in left_out.items()]
    return ranked(out)


def names(labels: list[str], most: int = 4) -> str:
    """A short list of labels as text."""
    shown = [clean(x, 40) for x in labels[:most]]
    rest = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _reversal(r: RankReversals) -> list[Finding]:
    pairs = len(r.pairs)
    sure = r.pairs[r.pairs["reverses"]].sort_values("p_selected")
    out = []
    if len(sure):
        first = sure.iloc[0]
        ahead, behind = ("language_a", "language_b") if first["gap_a"] > 0 else ("language_b", "language_a")
        out.append(
            Finding(
                "serious",
                "reversal",
                f"{len(sure)} of {pairs} judge pairs change places between languages after selection is accounted "
                f"for. The clearest: {clean(first['judge_i'])} is above {clean(first['judge_j'])} in "
                f"{clean(first[ahead])} and below in {clean(first[behind])} (adjusted p {first['p_selected']:.2g}).",
            )
        )
    if r.count > len(sure):
        out.append(
            Finding(
                "notice",
                "reversal-unsure",
                f"{r.count - len(sure)} more pairs change places in the means, but not clearly once it is allowed for "
                "that the two languages were picked from the data.",
            )
        )
    if not r.count:
        out.append(Finding("info", "no-reversal", f"No judge pair of {pairs} changes places between languages."))
    more = "more than" if r.p_global <= r.alpha else "about as many as"
    out.append(
        Finding(
            "warning" if r.p_global <= r.alpha and not len(sure) else "info",
            "reversal-global",
            f"{r.count} reversing pairs are {more} a panel without interaction shows by chance "
            f"(mean {r.null_mean:.1f}, 95% of draws up to {r.null_high:.0f}; p {r.p_global:.2g}).",
        )
    )
    return out


def _cells(u: Uncertainty) -> list[Finding]:
    cells = u.cells
    if not u.clear:
        return [
            Finding(
                "notice",
                "no-clear-cell",
                f"No cell of the interaction is clear of the {u.level:.0%} simultaneous band: with {u.tasks} tasks "
                "calibration would mostly subtract noise.",
            )
        ]
    clear = cells[cells["clear"]]
    top = clear.iloc[int(clear["interaction"].abs().argmax())]
    out = [
        Finding(
            "warning",
            "interaction",
            f"{u.clear} of {len(cells)} cells are clear of the {u.level:.0%} simultaneous band. The largest: "
            f"{clean(top['judge'])} in {clean(top['language'])}, {top['interaction']:+.2f} points "
            f"[{top['band_low']:+.2f}, {top['band_high']:+.2f}].",
        )
    ]
    square = (clear["interaction"] ** 2).groupby(clear["judge"]).sum()
    share = float(square.max() / (cells["interaction"] ** 2).sum())
    if share > 0.5:
        out.append(
            Finding(
                "warning",
                "one-judge-drives",
                f"{clean(square.idxmax())} alone carries {share:.0%} of the squared interaction: check this judge's "
                "prompts and parsing before calibrating the others towards it.",
            )
        )
    return out


def _order(panel: Panel, ranks: TiedSets) -> list[Finding]:
    top = ranks.top_set()
    table = ranks.table[ranks.table["scope"] == "language"]
    open_tops = int((table.groupby("language")["top_set"].sum() > 1).sum())
    text = (
        f"{clean(top[0])} is the most lenient judge overall."
        if len(top) == 1
        else f"The most lenient judge overall is not settled: {names(top)} cannot be told apart."
    )
    if open_tops:
        text += f" In {open_tops} of {len(panel.languages)} languages the top judge is not settled."
    return [Finding("info" if len(top) == 1 else "notice", "order", text)]
