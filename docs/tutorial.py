# %% [markdown]
# # Tutorial: from a file of scores to a decision
#
# Ten minutes. You have scores that judge models gave, and a decision to make. Here the scores are simulated, so that we can
# check at the end whether polyjudge was right. Everything runs as shown, in a notebook or a terminal; the chart needs the
# extra `polyjudge[figures]`.
#
# ## 1. Scores
#
# One row for each score: which task, in which language, by which judge. `demo --write` makes such a file.

# %%
# !polyjudge demo --write scores.csv

# %%
import pandas as pd

pd.read_csv("scores.csv").head(3)

# %% [markdown]
# ## 2. Is it read as you mean it?
#
# Columns are found by their usual names. `check` shows what was understood and what each command will be able to answer. If
# something is doubtful it asks, and never guesses.

# %%
import polyjudge as pj

pj.check("scores.csv")

# %% [markdown]
# ## 3. The first screen
#
# One command answers three questions: can the panel be trusted, what is off, what now.

# %%
audit = pj.audit("scores.csv")
audit

# %% [markdown]
# Read it from the top. The judges **agree with each other** about the tasks. That is good news with a limit: judges that share
# an error agree too, and only labels would show it. Then: **language changes your judges**. The grid has the points that
# calibrating would take off, cell by cell: Aster is far too generous in English and far too harsh in Spanish, compared with
# the other judges. So a ranking by Aster's scores would say more about the language than about the work.
#
# The same as a picture:

# %%
audit.plot("corrections")

# %% [markdown]
# ## 4. Is it one broken cell, or a little everywhere?
#
# Both happen, and the remedy differs: a broken cell is read, mended or left out; a little everywhere is calibrated.

# %%
print(audit.explanation.kind)
print(audit.advice.uses["rank-judges"])

# %% [markdown]
# "diffuse": no few cells explain it. So calibrating is the remedy, if you compare judges or languages. If you average the six
# judges, do nothing: calibrating leaves that mean exactly as it is, by arithmetic.
#
# ## 5. Calibrate
#
# A calibrator subtracts from every score what its language and judge add beyond their own levels. It is a small file that a
# service can load.

# %%
calibrator = pj.ConsensusCalibrator().fit("scores.csv")
calibrator.save("cal.json")
calibrator.transform(62.0, language="Spanish", judge="Aster")

# %% [markdown]
# Does that hold on tasks it has not seen? `compare` fits on some tasks and looks at the others. Agreement on the tasks it was
# fitted on would be 1 by arithmetic, and proves nothing.

# %%
pj.compare("scores.csv", methods=["raw", "cbc"]).to_frame()[
    ["method", "tau", "low", "high", "gain", "gain_low", "gain_high"]
]

# %% [markdown]
# ## 6. Was it right?
#
# These scores were simulated with a known interaction. This is the moment of truth that real data never give:

# %%
from polyjudge.samples import sample_truth

planted = sample_truth()
estimated = calibrator.interaction_
print((estimated - planted.loc[estimated.index, estimated.columns]).abs().max().round(2))

# %% [markdown]
# ## 7. What no panel can know
#
# Suppose all six judges were 10 points too harsh in Swahili. The table would look exactly as if Swahili answers were worse, and
# nothing above would change. Fifty labels a language tell. `polyjudge label make scores.csv --items items.jsonl -o labels/`
# writes pages that annotators open in a browser; `polyjudge anchor scores.csv --labels labels/` says how far the panel is from
# them, and `polyjudge calibrate scores.csv --labels labels/` removes that too.
#
# ## 8. The decision
#
# - If one judge's scores go into a report by language: use calibrated scores.
# - If you average the judges: use them as they are, and label fifty answers a language before you compare languages.
# - Keep the calibrator as a baseline, and let `polyjudge drift cal.json new.csv` watch the judges every night.
#
# The page with all details is one file that you can send around:

# %%
audit.to_html("audit.html")

# %% [markdown]
# Next: [rank systems](rank.md), [find what broke](broken.md), [calibrate in production](production.md),
# [label fifty](labels.md).
