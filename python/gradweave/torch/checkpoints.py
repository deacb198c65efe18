"""A session's state as each rank saves it, and as ranks go on from it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from gradweave._library import BadInput
from gradweave.torch.session import Session

_DEED = "load_exchange_state"
_NO_STATE = (
    f"{_DEED}: expected what exchange_state() returned: load_state_dict() takes parameters and "
    "buffers"
)
_SAVED = {"rank", "ranks", "trainers", "parameters", "session"}


def is_exchange_state(state: Any) -> bool:
    """Whether Checkpoints saved it; a module's state has tensors alone."""
    return isinstance(state, Mapping) and _SAVED <= state.keys()


class Checkpoints:
    """Saves and loads the states of a session whose tensors are parameters of these names."""

    def __init__(self, session: Session, names: Sequence[str], density: float) -> None:
        self._session = session
        self._names = names
        self._density = density

    def save(self) -> dict[str, Any]:
        """Returns the residuals of this rank, and all else that its session goes on from."""
        return {
            "rank": self._session.rank,
            "ranks": self._session.ranks,
            "trainers": self._session.trainers,
            "parameters": self._names,
            "density": self._density,
            "session": self._session.save(),
        }

    def load(self, states: Sequence[dict[str, Any]], residual_only: bool) -> None:
        """Goes on from what ranks have saved; all ranks call it."""
        session = self._session
        self._agree("" if all(map(is_exchange_state, states)) else _NO_STATE)
        if session.iterations > 0:
            got = f"got {session.iterations}"
            raise BadInput(f"{_DEED}: expected it before the first iteration, {got}")
        given = session.gather(_DEED, [(s["rank"], s["ranks"], s["trainers"]) for s in states])
        olds = {tuple(job) for of_rank in given for _, *job in of_rank}
        loaded = sorted(rank for of_rank in given for rank, *_ in of_rank)
        if len(olds) != 1:
            got = " and ".join(f"those of a job of {ranks} ranks" for ranks, _ in sorted(olds))
            raise BadInput(f"{_DEED}: expected states of one job, got {got or 'none'}")
        for old in loaded:
            held = [[one for one, *_ in of_rank if one == old] for of_rank in given]
            at = [str(rank) for rank, same in enumerate(held) for _ in same]
            if len(at) > 1:
                raise BadInput(
                    f"{_DEED}: expected each rank's state on one rank, got rank {old}'s on ranks "
                    f"{' and '.join(at)}"
                )
        own = (session.ranks, session.trainers)
        alike = all(of_rank == [(rank, *own)] for rank, of_rank in enumerate(given))
        exact = alike and not residual_only
        self._agree(self._load(states, exact))
        _, trainers = olds.pop()
        lost = sorted(set(range(trainers)) - set(loaded))
        if lost and session.rank == 0:
            warnings.warn(
                f"what ranks {lost} had not sent is lost: of {trainers} states, "
                f"{trainers - len(lost)} were given to load_exchange_state",
                stacklevel=3,
            )

    def _agree(self, complaint: str) -> None:
        """Fails on all ranks if one has a complaint about what it loads; all call it."""
        complaints = self._session.gather(_DEED, complaint)
        if None in complaints:
            raise BadInput("expected load_exchange_state on the rank that serves as well")
        if any(complaints):
            raise BadInput(next(filter(None, complaints)))

    def _load(self, states: Sequence[dict[str, Any]], exact: bool) -> str:
        """Loads states, and returns what is wrong with them: an empty text if they were taken."""
        for state in states:
            if state["parameters"] != self._names:
                return (
                    f"state of rank {state['rank']}: expected parameters {self._names}, got "
                    f"{state['parameters']}"
                )
            try:
                self._session.load(state["session"], residual_only=not exact)
            except BadInput as error:
                return f"state of rank {state['rank']}: {self._why_not(state, exact, str(error))}"
        return ""

    def _why_not(self, state: dict[str, Any], exact: bool, error: str) -> str:
        """Adds the density to C's complaint, which knows only how many elements are sent."""
        if not exact:
            return error
        if state.get("density", self._density) != self._density:
            error = f"density: expected {self._density:g}, got {state['density']:g}"
        return f"{error} (residual_only=True takes what was not sent alone)"
