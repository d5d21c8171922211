"""The paper's other methods, each one function of one signature, registered for `compare`."""

# Each registers its methods.
from polyjudge.paper.methods import btl, combat, dawid_skene, normalise, slopes  # noqa: F401
