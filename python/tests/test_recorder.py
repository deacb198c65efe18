"""Models that are recorded in a job: their order, their times, what is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from ranks import on_all_ranks, on_ranks  # noqa: E402

import gradweave.torch as gt  # noqa: E402


class Slow(torch.autograd.Function):
    """Takes known times, forward and backward."""

    @staticmethod
    def forward(context, values, forward_s, backward_s):
        context.backward_s = backward_s
        time.sleep(forward_s)
        return values.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.backward_s)
        return gradient, None, None


class Timed(torch.nn.Module):
    """Three layers; before the gradient of each, the backward pass sleeps for its time."""

    TIMES_S = (0.004, 0.002, 0.008)

    def __init__(self, used: int = 3, times_s: tuple[float, ...] = TIMES_S) -> None:
        super().__init__()
        self.times_s = times_s
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8, bias=False) for _ in range(3)])
        self.used = used

    def forward(self, values):
        for layer, backward_s in list(zip(self.layers, self.times_s))[: self.used]:
            values = Slow.apply(layer(values), 0.001, backward_s)
        return values


def run(module, steps: int, accumulate: int = 1, **options) -> gt.Recorder:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    recorder = gt.Recorder(module, optimizer, **options)
    for _ in range(steps):
        for _ in range(accumulate):
            module(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return recorder


def test_known_times_are_recorded(tmp_path):
    path = tmp_path / "model.json"
    recorder = run(Timed(), 12)
    recorder.write(str(path), name="timed", batch_size=4)
    model = json.loads(path.read_text())
    assert [t["name"] for t in model["tensors"]] == [f"layers.{i}.weight" for i in range(3)]
    assert [t["elements"] for t in model["tensors"]] == [64, 64, 64]
    assert (model["name"], model["batch_size"], model["bytes_per_element"]) == ("timed", 4, 4)
    assert model["source"]["iterations"] == 12 - 3
    assert model["forward_s"] >= 0.003
    for tensor, slept_s in zip(model["tensors"], Timed.TIMES_S):
        # what is slept, and no more than the machine adds; the order of layers is what must be right
        assert tensor["backward_s"] >= slept_s
        assert tensor["backward_low_s"] <= tensor["backward_s"] <= tensor["backward_high_s"]
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


def test_halves_are_recorded_with_two_bytes_an_element():
    module = torch.nn.Linear(8, 8, dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    recorder = gt.Recorder(module, optimizer, warm_up=1)
    for _ in range(3):
        module(torch.randn(4, 8, dtype=torch.bfloat16)).square().mean().backward()
        optimizer.step()
    assert recorder.model()["bytes_per_element"] == 2


@on_all_ranks
def test_a_gradient_is_ready_when_all_ranks_are(rank: int) -> None:
    """Each rank has the slowest of one layer, and the last layer's gradient comes first."""
    module = Timed(times_s=((0.0, 0.0, 0.03), (0.06, 0.0, 0.0))[rank])
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    recorder = gt.Recorder(module, optimizer, warm_up=1)
    for _ in range(4):
        module(torch.randn(4, 8)).square().mean().backward()
        dist.barrier()
        optimizer.step()
    tensors = recorder.model()["tensors"]
    assert tensors[2]["backward_s"] > 0.02  # rank 0's; the mean of ranks is 0.015
    assert sum(tensor["backward_s"] for tensor in tensors) > 0.05


def _record_noise(rank: int) -> None:
    """Both ranks are slow in each third iteration, and rank 1 always takes longer."""
    module = Timed(times_s=(0.0, 0.0, 0.0))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    recorder = gt.Recorder(module, optimizer, warm_up=1)
    for i in range(1 + 12):
        module.times_s = (0.02 + 0.02 * rank + (0.06 if i % 3 == 0 else 0.0), 0.0, 0.0)
        module(torch.randn(4, 8)).square().mean().backward()
        dist.barrier()
        optimizer.step()
    recorder.write("model.json", noise="noise.json")
    dist.barrier()
    model, noise = (json.loads(Path(f"{name}.json").read_text()) for name in ("model", "noise"))
    backward_s = sum(tensor["backward_s"] for tensor in model["tensors"])
    assert noise["compute_s"] == pytest.approx(backward_s + model["forward_s"] + model["update_s"])
    assert (noise["schema"], noise["source"]["ranks"]) == ("gradweave/noise@1", 2)
    times_s = noise["compute_s"] * torch.tensor(noise["factors"])
    assert times_s.shape == (12, 2)
    slow = torch.arange(1, 13) % 3 == 0
    expected_s = torch.tensor([0.023, 0.043]) + 0.06 * slow[:, None]
    assert (times_s >= expected_s).all()
    assert (times_s.median(dim=0).values < 0.08).all()
    assert times_s[slow].min() > times_s[~slow].median()


def _record_late(rank: int, folder: str) -> None:
    """The other rank has the processor when the wait is over."""
    begun = torch.zeros(1)
    for barrier_s in (None, 0.0, 0.005):
        module = Timed()
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        recorder = gt.Recorder(module, optimizer, barrier_s=barrier_s)
        for _ in range(8):
            module(torch.randn(4, 8)).square().mean().backward()
            if rank == 0:
                dist.send(begun, 1)
            else:  # sleeps once rank 0 begins to wait, however late the machine lets it
                dist.recv(begun, 0)
                time.sleep(0.03)
            optimizer.step()
            optimizer.zero_grad()
        recorder.write(f"{folder}/{barrier_s}.json")
        recorder.close()


def test_waits_for_processors_count_as_forward(tmp_path):
    on_ranks(tmp_path, _record_late, str(tmp_path))
    blind, whole, known = (
        json.loads((tmp_path / f"{barrier_s}.json").read_text())["forward_s"]
        for barrier_s in (None, 0.0, 0.005)
    )
    print(f"forward {blind:.4f}, {whole:.4f}, {known:.4f} s")
    assert whole >= 0.03 + 0.003  # and whatever else the machine does meanwhile
    assert known >= 0.025 + 0.003
    assert blind < whole - 0.015


def test_noise_is_of_each_rank_and_iteration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    on_ranks(tmp_path, _record_noise)


def test_accumulated_passes_count_as_forward():
    once, twice = run(Timed(), 8).model(), run(Timed(), 8, accumulate=2).model()
    slept_s = sum(Timed.TIMES_S)
    assert twice["forward_s"] >= 2 * 0.003 + slept_s
    assert once["forward_s"] < twice["forward_s"]
    assert sum(t["backward_s"] for t in twice["tensors"]) < 2 * slept_s + once["forward_s"] + 1


def test_parameters_without_gradients_are_left_out():
    model = run(Timed(used=2), 5).model()
    assert len(model["tensors"]) == 2
    assert "layers.2.weight" in model["source"]["note"]


def test_recordings_that_say_too_little_are_refused():
    with pytest.raises(gt.BadInput, match="more than 3 iterations with an optimizer's step, got 2"):
        run(Timed(), 2).model()
    module = Timed()
    recorder = run(module, 5)
    module.used = 2
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    recorder.close()
    recorder = gt.Recorder(module, optimizer, warm_up=0)
    for module.used in (2, 3):
        module(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    with pytest.raises(gt.BadInput, match="layers.2.weight had one in some only"):
        recorder.model()
    mixed = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).double()])
    for recorder in (gt.GradientRecorder, lambda module: gt.Recorder(module, optimizer)):
        with pytest.raises(gt.BadInput, match="1.weight: expected floats of 32 or 16 bits .* torch.float64"):
            recorder(mixed)
    with pytest.raises(gt.BadInput, match="parameters that learn"):
        gt.Recorder(Timed().requires_grad_(False), optimizer)


def test_validation_passes_do_not_count():
    module = Timed()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    recorder = gt.Recorder(module, optimizer, warm_up=0)
    with torch.no_grad():
        module(torch.randn(4, 8))
    module.eval()
    module(torch.randn(4, 8))
    module.train()
    for _ in range(2):
        module(torch.randn(4, 8)).square().mean().backward()
        optimizer.step()
    assert recorder.model()["source"]["iterations"] == 2
