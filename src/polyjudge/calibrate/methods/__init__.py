"""The methods that `compare` sets side by side, each one function of one signature, in a registry."""

# Each registers its methods.
from polyjudge.calibrate.methods import btl, combat, consensus, dawid_skene, normalise, slopes, sparse  # noqa: F401
from polyjudge.calibrate.methods.base import REGISTRY, Map, Method, find_methods, method
from polyjudge.calibrate.methods.block import Block

__all__ = ["ORDER", "REGISTRY", "Block", "Map", "Method", "find_methods", "method"]

ORDER = (
    "raw", "per-language norm", "judge-only norm", "z-score", "quantile norm", "ensemble", "combat-eb", "dawid-skene",
    "random control", "cbc", "cbc-weighted", "oracle",
)  # fmt: skip
"""The order in which tables show the methods; all others follow."""

for _name in (*ORDER, *[n for n in REGISTRY if n not in ORDER]):
    REGISTRY[_name] = REGISTRY.pop(_name)
