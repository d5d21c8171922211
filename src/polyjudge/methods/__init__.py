"""The methods that `compare` sets side by side, each one function of one signature, in a registry."""

from polyjudge.methods import consensus  # registers its methods
from polyjudge.methods.base import REGISTRY, Block, Method, find_methods, method

__all__ = ["REGISTRY", "Block", "Method", "consensus", "find_methods", "method"]
