"""Tests of what launchers tell ranks: torchrun, Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from gradweave._library import BadInput
from gradweave.torch.launcher import complete

OMPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "3"}
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "6"}
BATCH = {"SLURM_JOB_ID": "12045", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}
BATCH["SLURM_JOB_NODELIST"] = "n[1-2]"
STEP = {"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}
STEP = {**BATCH, **STEP, "SLURM_STEP_NODELIST": "n[1-2]"}
PMIX = {"PMIX_RANK": "1", "SLURM_PMIXP_ABORT_AGENT_PORT": "46081"}
# Slurm starts Open MPI's daemons on all nodes but mpirun's, and MPICH's on all.
DAEMON = {**STEP, "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "SLURM_STEP_NODELIST": "n2"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, ("0", "1", "127.0.0.1", "0")),
        ({**OMPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, ("3", "4", "127.0.0.1", "29500")),
        ({**HYDRA, "MPI_LOCALNRANKS": "2"}, ("1", "2", "127.0.0.1", "29500")),
        (STEP, ("1", "2", "n1", "29545")),
        ({**STEP, **PMIX}, ("1", "2", "n1", "29545")),
        ({**STEP, **HYDRA}, ("1", "2", "n1", "29545")),
        ({**STEP, "SLURM_STEP_NODELIST": "gpu-1"}, ("1", "2", "gpu-1", "29545")),
        ({**STEP, "SLURM_STEP_NODELIST": "r[2,4-5]n[07-12],m3"}, ("1", "2", "r2n07", "29545")),
        ({**STEP, "SLURM_STEP_NODELIST": "m3,r[2,4]"}, ("1", "2", "m3", "29545")),
        (BATCH, ("0", "1", "127.0.0.1", "0")),
        (
            {**STEP, "RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "a", "MASTER_PORT": "7"},
            ("5", "8", "a", "7"),
        ),
        (
            {**DAEMON, **OMPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "MASTER_ADDR": "n1"},
            ("3", "4", "n1", "29545"),
        ),
    ],
)
def test_ranks_find_each_other(told, expected):
    environment = dict(told)
    complete(environment)
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    assert tuple(environment[name] for name in names) == expected


@pytest.mark.parametrize(
    "told",
    [
        {**DAEMON, **OMPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
        {**STEP, **HYDRA, "MPI_LOCALNRANKS": "1"},
    ],
)
def test_ranks_of_mpirun_on_several_hosts_want_an_address(told):
    with pytest.raises(BadInput, match="MASTER_ADDR: expected the address of rank 0's host"):
        complete(dict(told))
