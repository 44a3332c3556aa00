"""Large model support on several ranks: DistributedDataParallel within a memory budget per rank."""

import contextlib

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ranks
import tutti.torch
from tutti.lms import LMS

BUDGET = 8 << 20  # bytes; each rank needs about 11 MiB


def trained(budget, uses_shared_memory):
    """Returns losses and gradients of this rank, and the counters of large model support."""
    if uses_shared_memory:
        tutti.torch.use_shared_memory(1 << 16)
    with LMS(budget=budget, lms=16) if budget else contextlib.nullcontext() as lms:
        torch.manual_seed(1)
        layers = [layer for i in range(6) for layer in (nn.Conv2d(16 if i else 3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())]
        model = DistributedDataParallel(nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 32 * 32, 8)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        torch.manual_seed(dist.get_rank())
        outcome = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 3, 32, 32)).square().mean()
            loss.backward()
            outcome.append(loss.detach().clone())
            outcome.extend(parameter.grad.clone() for parameter in model.parameters())
            optimizer.step()
        report = lms.report(as_dict=True) if budget else None
    return [value.numpy().tobytes() for value in outcome], report


@pytest.mark.parametrize("uses_shared_memory", [False, True])
def test_ranks_train_with_the_same_bits(uses_shared_memory):
    expected = ranks.run(2, trained, None, uses_shared_memory)
    for (want, _), (got, report) in zip(expected, ranks.run(2, trained, BUDGET, uses_shared_memory)):
        assert got == want
        assert report["peak_resident"] <= BUDGET
        assert report["page_ins"] > 0
