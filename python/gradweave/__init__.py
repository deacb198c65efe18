"""gradweave: how gradients travel, and how long an iteration takes.

`gradweave.torch` runs published pipelines of compressed gradients in a PyTorch job. All of it is
libgradweave's; nothing is computed here.
"""

from gradweave._library import BadInput, GradweaveError, version

__all__ = ["BadInput", "GradweaveError", "version"]
