"""Messages inside of join() among ranks whose inputs end in different iterations."""

from __future__ import annotations

import torch

from gradweave._library import BadInput, GradweaveError
from gradweave.torch.session import Session

# Steps that a rank is about to take. ENDED: it has no inputs left.
ENDED, SHARES_BUFFERS, ITERATES = 0, 1, 2


class UnevenInputs:
    """Compares the next steps of all ranks, before each step that they take together."""

    def __init__(self, session: Session, throws: bool) -> None:
        self._session = session
        self._throws = throws
        self._trained = True  # in the last iteration of all ranks, until its end

    def announce(self, step: int) -> tuple[int, int]:
        """Tells all ranks this rank's next step; all ranks that train call it.

        Returns the step of those ranks that have inputs, or ENDED if none has, and the last of
        these ranks. Fails if they take different steps.
        """
        steps = self._gather(step)
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
            self._trained = step == ITERATES
        return max(steps), max(going, default=0)

    def note_unfinished(self) -> None:
        """Notes that this rank ends between its forward pass and its optimizer's step."""
        self._trained = False

    def find_trained(self) -> int | None:
        """Finds the last rank that trained in the last iteration; None if all did, or none."""
        flags = self._gather(self._trained)
        trained = [rank for rank, flag in enumerate(flags) if flag]
        return trained[-1] if 0 < len(trained) < len(flags) else None

    def _gather(self, own: int) -> list[int]:
        """Returns every rank's number below 256, by rank."""
        flags = torch.zeros(self._session.trainers, dtype=torch.uint8)
        flags[self._session.rank] = own
        self._session.unite(flags)
        return flags.tolist()
