"""Ranks whose inputs end in different iterations: what they say to each other inside of join()."""

from __future__ import annotations

import torch

from gradweave._library import BadInput, GradweaveError
from gradweave.torch.session import Session

ENDED, SHARES_BUFFERS, ITERATES = 0, 1, 2  # what a rank is about to do; ENDED: it has no inputs


class UnevenInputs:
    """Before each step that ranks take together, each says which one it takes next."""

    def __init__(self, session: Session, throws: bool) -> None:
        self._session = session
        self._throws = throws
        self._iterated = [True] * session.trainers  # in the last iteration

    def announce(self, step: int) -> tuple[int, int]:
        """Says this rank's; which one those take that have inputs, and the last of these ranks.

        ENDED: none has. Fails if they take different ones.
        """
        flags = torch.zeros(self._session.trainers, dtype=torch.uint8)
        flags[self._session.rank] = step
        self._session.unite(flags)
        steps = flags.tolist()
        going = [rank for rank, one in enumerate(steps) if one != ENDED]
        if len({steps[rank] for rank in going}) > 1:
            expected = "expected as many forward passes in each iteration on all ranks"
            raise self._session.end(BadInput(f"join: {expected}"))
        if self._throws and going and ENDED in steps:
            ended = steps.index(ENDED)
            raise self._session.end(
                GradweaveError(f"join: rank {ended} has no inputs left, and rank {going[0]} has")
            )
        if max(steps) == ITERATES:
            self._iterated = [one != ENDED for one in steps]
        return max(steps), max(going, default=0)

    def ahead(self) -> int | None:
        """The last rank of those that were in the last iteration, if others were not."""
        going = [rank for rank, iterated in enumerate(self._iterated) if iterated]
        return None if all(self._iterated) else going[-1]
