"""gradweave: how gradients travel, and how long an iteration takes.

`gradweave.torch` runs published pipelines of compressed gradients in a PyTorch job. All of it is
libgradweave's; nothing is computed here. `plan`, `predict` and `compare` need no PyTorch.
"""

from gradweave._library import BadInput, GradweaveError, algorithms, version
from gradweave.study import Comparison, Plan, Prediction, compare, plan, predict

__all__ = [
    "BadInput",
    "Comparison",
    "GradweaveError",
    "Plan",
    "Prediction",
    "algorithms",
    "compare",
    "plan",
    "predict",
    "version",
]
