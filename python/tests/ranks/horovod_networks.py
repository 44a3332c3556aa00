"""Networks and data for the checks of tutti.horovod.torch, and the single-process reference training."""

import torch
import torch.nn.functional as F

import tutti.horovod.torch as hvd


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 40), torch.nn.Tanh(), torch.nn.Linear(40, 40), torch.nn.Tanh(), torch.nn.Linear(40, 3))


def data(step, of_rank):
    torch.manual_seed(1000 * step + of_rank)
    return torch.randn(4, 6), torch.randint(0, 3, (4,))


def loss_of(model, step, of_rank):
    inputs, labels = data(step, of_rank)
    return F.cross_entropy(model(inputs.to(model[0].weight.dtype)), labels)


def train(model, optimizer, steps, passes=1, **options):
    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters(), backward_passes_per_step=passes, **options
    )
    for step in range(steps):
        optimizer.zero_grad(set_to_none=step % 2 == 1)
        for p in range(passes):
            loss_of(model, step * passes + p, hvd.rank()).backward()
        optimizer.step()
    return optimizer


def train_whole(model, optimizer, steps, passes=1, scale=1.0, ranks=None):
    """Trains in one process with the batches of all these ranks."""
    ranks = range(hvd.size()) if ranks is None else ranks
    for step in range(steps):
        optimizer.zero_grad()
        for p, r in ((p, r) for p in range(passes) for r in ranks):
            (loss_of(model, step * passes + p, r) * scale / len(ranks)).backward()
        optimizer.step()


def assert_close(model, reference, tolerance=1e-5):
    for a, b in zip(model.parameters(), reference.parameters()):
        assert torch.allclose(a, b, atol=tolerance), (a - b).abs().max()
