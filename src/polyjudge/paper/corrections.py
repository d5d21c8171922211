"""What in the paper does not hold or is arithmetic, with what can be said instead (docs/methods.md, section 16).

Under "published" stands only what the paper says. Beside it stands what the paper concedes itself, and what its authors
say in their later manuscript and notes (their repository, commit 63acdc8), both in their words.
"""

from __future__ import annotations

from polyjudge.panel.numbers import p_words
from polyjudge.paper.ablations import JUDGES_IDENTITY
from polyjudge.paper.devai import FULL_FIT, MANY, SEVERITY, Findings, Types, gain_text
from polyjudge.paper.human_labels import LabelCheck
from polyjudge.paper.reproduction import Correction
from polyjudge.paper.top_judge import TARGET
from polyjudge.questions.compare.held_out import GAIN_SCOPE

LENIENCY = '"These means order evaluator leniency, not evaluator quality."'


def corrections(found: Findings, types: Types) -> tuple[Correction, ...]:
    """Of the DevAI part, without labels."""
    return (*_statistics(found, types), *_readings(found), *_wording(found))


def _statistics(found: Findings, types: Types) -> tuple[Correction, ...]:
    u, rev = found.uncertainty, found.reversals
    lost = rev.pairs[(rev.pairs["p_published"] <= rev.alpha) & ~rev.pairs["reverses"]]
    names = "; ".join(f"{a} / {b}" for a, b in zip(lost["judge_i"], lost["judge_j"], strict=True)) or "none"
    half = found.largest / 2
    high = float(found.many.table.set_index("method")["high"]["cbc"])
    given = types.dawid_skene
    asked = "" if given is None else f"; on single requirements, as the text has it, Dawid-Skene has tau {given:.3f}"
    return (
        Correction(
            "Pairs of judges that reverse significantly",
            '"all 7 observed reversal pairs remain significant after correction"',
            f"{rev.count_selected} of {len(rev.pairs)} hold, with other p-values (lost: {names}); more reversals than "
            f"without interaction, {p_words(rev.p_global, rev.p_floor)}",
            "The two languages that show a reversal were picked from the same data; the corrected test allows for it.",
            later="\"The table's witness languages are selected from 28 possible pairs and are descriptive, so we test "
            'the total reversal count."',
        ),
        Correction(
            "Uncertainty of the interaction",
            '"about 10.0 points at ε=0.05 with σ=22.24 estimated from the benchmark score dispersion"; "about 52 '
            'tasks"',
            f"radius {found.radius(u.sigma_noise):.2f} with the noise's sigma ({u.sigma_noise:.2f} instead of "
            f"{u.sigma_scores:.2f}), {found.tasks_for(u.sigma_noise, half)} tasks if that is known; the "
            f"bootstrap band has {u.clear} of {len(u.cells)} cells clear of zero",
            "The bound needs the sd of the noise; the sd of all scores counts tasks, judges and languages as noise.",
            '"The finite-sample concentration bound is conservative in practice."',
            'another bound, for any dependence within a task: "We therefore use a task bootstrap for empirical '
            'intervals."',
        ),
        Correction(
            "Upper end of the calibrated tau",
            "0.968",
            f"{high:.3f} with {MANY:,} resamples of other draws",
            "tau is exactly 1 in about 3% of the resamples, so that the published end is luck of the draws.",
        ),
        Correction(
            "Dawid-Skene and judge-aware Bradley-Terry-Luce",
            '"binarizing requirement outcomes"; "judge-specific discrimination parameters"',
            "both follow the released code: the label is a task score of 100, and the discrimination belongs to the "
            f"subset of an item, easy or hard{asked}",
            "The released code does otherwise than the text says, and the printed numbers are those of the code.",
            later='"using the easy/hard dataset strata as discrimination groups. The original cited model uses actual '
            'judge identities for these parameters."',
        ),
    )


def _readings(found: Findings) -> tuple[Correction, ...]:
    return (
        Correction(
            "After calibration all languages agree",
            '"all eight languages align on the same backbone order", oracle τ 1.000, mean imputation coincides with '
            "zero-shot",
            "true by arithmetic for any scores; so are weighted CBC = CBC and per-language norm = raw",
            f"{FULL_FIT} The others follow from I6 and from the sums of the interaction being zero.",
            '"an in-sample sanity check, not an independent generalization estimate"; the coincidence is stated as '
            "such",
            '"On the full fitting panels, CBC yields τ=1 by construction"',
        ),
        Correction(
            "CBC picks the right judge",
            '"agrees with the held-out additive-model oracle in 100% of per-language decisions versus 68.5% raw"',
            "agreement with the model's own target, not with a truth",
            str(TARGET),
            '"model-based consistency, not human-grounded correctness"',
        ),
        Correction(
            "Rank consistency",
            '"raises held-out cross-task rank consistency τ from 0.650 to 0.902"',
            gain_text(found),
            f"Consistency is not accuracy. {GAIN_SCOPE}",
            '"consistency diagnostics, not human-grounded correctness measures"',
            '"A higher consistency score therefore cannot show that the removed term was error."',
        ),
        Correction(
            "More judges",
            '"mean τ stays near 0.90 for all m"',
            "true by arithmetic up to the random draws; only the spread depends on the number of judges",
            str(JUDGES_IDENTITY),
            '"the main effect of larger m is reduced variability across subsets"',
        ),
        Correction(
            "Calibrated order of the judges",
            '"Gemini > GPT-4o > GPT-5.4 > Sonnet > DeepSeek > Qwen", with α(b) called backbone skill',
            "a severity order",
            SEVERITY,
            later=LENIENCY,
        ),
    )


def _wording(found: Findings) -> tuple[Correction, ...]:
    turned = found.reversals.pairs
    turned = turned[turned["delta"] > 0]
    gemini = turned[(turned["judge_i"] == "Gemini") | (turned["judge_j"] == "Gemini")]
    seven = "; ".join(f"{a} / {b}" for a, b in zip(turned["judge_i"], turned["judge_j"], strict=True))
    return (
        Correction(
            "Which pairs reverse",
            '"exactly the cross-family pairs among GPT-4o, GPT-5.4, Sonnet, and DeepSeek"; Gemini shows no sign change',
            f"{seven}: {len(gemini)} with Gemini, and GPT-4o / GPT-5.4 is one family",
            "The paper's own Table 1 lists them so.",
            later='"four of the seven reversals involve GPT-4o"',
        ),
        Correction(
            "What the scores of 0 are",
            "nothing; the paper does not speak of empty or failed answers",
            "by the authors' own later audit empty or failed answers were scored as unsatisfied: 27% of Qwen's "
            "verdicts, 67% in Swahili, 62% in Spanish; that is part of Qwen's cells, not of GPT-4o's in Spanish",
            "Missing is missing, not 0.",
            later="\"Excluding Qwen3.5-9B, the noncompliance rate is 0.12%, and GPT-4o's Spanish missing-tag rate is "
            '0.5%, so missing tags do not explain the 20.6-point cell."',
        ),
    )


def seen(found: Findings, check: LabelCheck | None) -> tuple[Correction, ...]:
    """What the panel knows about the work, with labels."""
    if check is None:
        return ()
    s, r = check.signal, check.panel
    return (
        Correction(
            "What the panel measures",
            '"the code artifact produced for task t that the judge scores"',
            f"the judges hardly agree about the frameworks' work: reliability of one judge about it {s.mean_one:.3f} "
            f"[{s.mean_one_low:.3f}, {s.mean_one_high:.3f}]; correlation of the panel mean with the humans "
            f"{r['r']:.2f} [{r['low']:.2f}, {r['high']:.2f}] over {check.answers} pieces of work",
            "Calibrating such a panel makes consistent what carries little information about the work.",
            "the rankings are not human-grounded",
            '"A comparison of task scores with aggregated human satisfaction would address a coarser target and '
            'remains untested."',
        ),
        Correction(
            "Whom calibration helps",
            "nothing; the paper has no labels for this panel",
            f"nearer to the humans in {check.helped} cells, further away in {check.hurt}, cannot tell in "
            f"{check.unclear}",
            "The gain over the whole panel is arithmetic (I7); who gains needs labels.",
        ),
    )
