"""The process group that libgradweave gets, whose functions these tests call as C does."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from ranks import on_all_ranks  # noqa: E402

from gradweave.torch.group import NUMBERS, LentGroup  # noqa: E402

RANKS = 4
NAMES = {number: i for i, number in enumerate(NUMBERS)}


def lent_sum(lent: LentGroup, own: torch.Tensor) -> torch.Tensor:
    functions, total = lent.functions, torch.empty_like(own)
    assert not functions.allreduce(
        functions.context, NAMES[own.dtype], own.data_ptr(), total.data_ptr(), own.numel()
    )
    return total


@on_all_ranks(ranks=RANKS)
def test_each_rank_gets_its_parts(rank: int) -> None:
    functions = LentGroup(dist.group.WORLD).functions
    own = torch.arange(3 * RANKS, dtype=torch.uint8) + 50 * rank
    got = torch.empty_like(own)
    assert not functions.alltoall(functions.context, own.data_ptr(), 3, got.data_ptr())
    expected = torch.cat([torch.arange(3) + 3 * rank + 50 * other for other in range(RANKS)])
    assert got.tolist() == expected.tolist()


@on_all_ranks(ranks=RANKS)
def test_halves_are_summed_alike_and_closely(rank: int) -> None:
    """gloo rounds to the type in each of P - 1 steps."""
    lent = LentGroup(dist.group.WORLD)
    for number, roundoff in ((torch.bfloat16, 2**-8), (torch.float16, 2**-11)):
        parts = [
            torch.randn(10007, generator=torch.Generator().manual_seed(other)).to(number)
            for other in range(RANKS)
        ]
        total = lent_sum(lent, parts[rank])
        gathered = [torch.empty_like(total) for _ in range(RANKS)]
        dist.all_gather(gathered, total)
        assert all(torch.equal(other, total) for other in gathered)
        magnitudes = sum(part.double().abs() for part in parts)
        bound = magnitudes * ((1 + roundoff) ** (RANKS - 1) - 1) + RANKS * 2**-25
        error = (total.double() - sum(part.double() for part in parts)).abs()
        assert (error <= bound).all()


@on_all_ranks(ranks=RANKS)
def test_gloo_rounds_halves_in_each_step(rank: int) -> None:
    """Once a partial sum is as large as 256, adding 1 in bf16 changes nothing."""
    lent = LentGroup(dist.group.WORLD)
    total = lent_sum(lent, torch.full((1000,), 256 if rank == 0 else 1, dtype=torch.bfloat16))
    assert set(total.tolist()) == {256, 260}


@on_all_ranks(ranks=RANKS)
def test_small_halves_vanish_if_they_are_divided_first(rank: int) -> None:
    """PyTorch's fp16_compress_hook divides by the ranks before the sum."""
    lent = LentGroup(dist.group.WORLD)
    small = torch.full((8,), 1e-7, dtype=torch.float16)
    assert not lent_sum(lent, small / RANKS).any()
    assert (lent_sum(lent, small).float() / RANKS - 1e-7).abs().max() < 3e-8


@on_all_ranks(ranks=2)
def test_two_ranks_get_the_bits_of_gloo(rank: int) -> None:
    """Two ranks swap what they have and add it themselves."""
    functions = (lent := LentGroup(dist.group.WORLD)).functions
    for number in NUMBERS:
        for count in (1, 2, 10007):
            drawn = torch.randn(count, generator=torch.Generator().manual_seed(rank))
            own = drawn.to(number)
            expected = own.clone()
            dist.all_reduce(expected)
            assert torch.equal(lent_sum(lent, own), expected)
            both, size = torch.empty(2 * count, dtype=number), count * number.itemsize
            addresses = own.data_ptr(), size, both.data_ptr()
            assert not functions.allgather(functions.context, *addresses)
            parts = [torch.empty_like(own) for _ in range(2)]
            dist.all_gather(parts, own)
            assert torch.equal(both, torch.cat(parts))
