"""The paper's other methods, each one function of one signature, registered for `compare`."""

from polyjudge.second.calibrate.methods import REGISTRY

# Each registers its methods.
from polyjudge.second.paper.methods import btl, dawid_skene, normalise, variants  # noqa: F401

ORDER = (
    "raw", "per-language norm", "judge-only norm", "z-score", "quantile norm", "ensemble", "combat-eb", "dawid-skene",
    "random control", "cbc", "cbc-weighted", "oracle",
)  # fmt: skip
"""The methods of the paper's table, in its order."""
for _name in (*ORDER, *[name for name in REGISTRY if name not in ORDER]):
    REGISTRY[_name] = REGISTRY.pop(_name)
