"""Translates what torchrun, mpirun and srun tell a rank for init_process_group."""

from __future__ import annotations

import re
from collections.abc import MutableMapping

from gradweave._library import BadInput


def _this(ranks_here: str, size: str) -> str | None:
    return "127.0.0.1" if ranks_here == size else None


def _first(nodes: str, size: str) -> str:
    """rack[1-2,4]n[07-12],m3 begins with rack1n07."""
    return re.sub(r"\[(\w+)[^]]*\]", r"\1", nodes).split(",")[0]


# Rank, number of ranks, what tells the first rank's host and how; all three, or it was another
# launcher. Inside a job of mpirun's, Slurm's variables are about its daemons, and in a batch script
# SLURM_NTASKS says how many ranks srun would start.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", _this),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", _this),  # MPICH
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST", _first),
)


def complete(environment: MutableMapping[str, str]) -> None:
    """Adds RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT where there are none; alone: of one."""
    for *names, host_of in _LAUNCHERS:
        if "RANK" not in environment and all(name in environment for name in names):
            rank, size, told = (environment[name] for name in names)
            environment["RANK"], environment["WORLD_SIZE"] = rank, size
            if host := host_of(told, size):
                environment.setdefault("MASTER_ADDR", host)
    environment.setdefault("RANK", "0")
    environment.setdefault("WORLD_SIZE", "1")
    if environment["WORLD_SIZE"] == "1":
        environment.setdefault("MASTER_ADDR", "127.0.0.1")
        environment.setdefault("MASTER_PORT", "0")
    if "MASTER_ADDR" not in environment:
        raise BadInput(
            "MASTER_ADDR: expected the address of rank 0's host in it, as mpirun does not tell it "
            "to ranks on others"
        )
    # Jobs that share a host get a port each.
    job = int(environment.get("SLURM_JOB_ID", "0"))
    environment.setdefault("MASTER_PORT", str(29500 + job % 1000))
