"""DistributedDataParallel and related classes of torch, unmodified, on the backend `ddl`."""

import contextlib

import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import ranks
import tutti.torch
import tutti.torch.hooks

BATCH = 12  # global batch size, divisible by 1, 2, 3 and 4


def network(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 600), torch.nn.Tanh(),
        torch.nn.Linear(600, 10),
    )  # fmt: skip


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(BATCH, 1, 8, 8, generator=generator), torch.randint(10, (BATCH,), generator=generator)


def share_of(tensor):
    return tensor.chunk(dist.get_world_size())[dist.get_rank()]


def train(model, optimizer, steps=4, mine=lambda tensor: tensor):
    for step in range(steps):
        inputs, labels = map(mine, batch(step))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


def parameters(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def alone(make=lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)):
    """Returns the parameters after the same training in one process with the global batch."""

    def trained():
        model = network()
        train(model, make(model.parameters()))
        return parameters(model)

    return ranks.run(1, trained)[0]  # torch 2 allows no backward pass in processes forked after one


def assert_close(got, want):
    assert torch.allclose(got, want, rtol=1e-4, atol=1e-5), (got - want).abs().max()


def plain(options):
    model = DistributedDataParallel(network(seed=dist.get_rank()), **options)  # DDP broadcasts the weights of rank 0
    dist.broadcast(torch.zeros(1), 0)
    model.load_state_dict({f"module.{k}": v for k, v in network().state_dict().items()})
    train(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), mine=share_of)
    in_place = options.get("gradient_as_bucket_view")
    are_shared = [tutti.torch.is_shared(p.grad) for p in model.parameters()] if in_place else []
    return parameters(model), are_shared


@pytest.mark.parametrize("size", [1, 2, 3])
def test_training_equals_one_process(size):
    want = alone()
    for options in ({}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.5}, {"static_graph": True}):
        answers = ranks.run(size, plain, options)
        for got, are_shared in answers:
            assert_close(got, want)
            assert torch.equal(got, answers[0][0])  # identical weights on all ranks
            assert size == 1 or any(are_shared) or not are_shared  # the large bucket is in library-allocated memory


def exact_steps(whole_batch):
    """Returns numbers whose sums are exact in float64 in any order: integers and powers of two."""
    model = torch.nn.Linear(6, 4).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) % 5 - 2)
    mine = (lambda tensor: tensor) if whole_batch else share_of
    model = model if whole_batch else DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 2.0**-10, momentum=0.5)
    for step in range(4):
        inputs = (torch.arange(48).reshape(8, 6) * (step + 3) % 7).double()
        optimizer.zero_grad()
        outputs = model(mine(inputs))
        ((outputs * outputs).sum() / outputs.shape[0]).backward()
        optimizer.step()
    return parameters(model)


@pytest.mark.parametrize("size", [2, 4])
def test_training_is_bit_equal_where_sums_are_exact(size):
    want = ranks.run(1, exact_steps, True)[0]
    for got in ranks.run(size, exact_steps, False, environment={"DDL_REPRODUCIBLE": "1"}):
        assert torch.equal(got, want)


def with_buckets(megabytes):
    model = DistributedDataParallel(network(), bucket_cap_mb=megabytes)
    train(model, torch.optim.SGD(model.parameters(), 0.1), mine=share_of)
    return parameters(model)


def test_reproducible_mode_does_not_depend_on_buckets():
    outcomes = [ranks.run(3, with_buckets, size, environment={"DDL_REPRODUCIBLE": "1"})[0] for size in (0.01, 0.3, 25)]
    assert all(torch.equal(outcome, outcomes[0]) for outcome in outcomes)


def unused_parameters():
    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

        def forward(self, inputs, use_second):
            return (self.second if use_second else self.first)(inputs)

    torch.manual_seed(0)
    model = DistributedDataParallel(Branches(), find_unused_parameters=True)
    for step in range(3):
        model(torch.ones(1, 4), (step + dist.get_rank()) % 2 == 0).sum().backward()  # a different branch on each rank
    return [parameter.grad.sum().item() for parameter in model.parameters()]


def test_unused_parameters():
    answers = ranks.run(2, unused_parameters)
    assert answers[0] == answers[1]
    assert all(value != 0 for value in answers[0])


def accumulated():
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for step in range(4):
        inputs, labels = map(share_of, batch(step))
        optimizer.zero_grad()
        halves = list(zip(inputs.chunk(2), labels.chunk(2), strict=True))
        for number, (part, answer) in enumerate(halves):
            with model.no_sync() if number == 0 else contextlib.nullcontext():
                (torch.nn.functional.cross_entropy(model(part), answer) / 2).backward()
        optimizer.step()
    return parameters(model)


def test_no_sync_accumulates():
    want = alone()
    for got in ranks.run(2, accumulated):
        assert_close(got, want)


def uneven():
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    with Join([model, optimizer]):
        for step in range(2 + dist.get_rank() * 2):  # the last rank has the most batches
            inputs, labels = map(share_of, batch(step))
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
    return parameters(model)


def test_join_of_uneven_inputs():
    answers = ranks.run(3, uneven)
    assert all(torch.equal(answer, answers[0]) for answer in answers)
    assert not torch.equal(answers[0], parameters(network()))


def sharded(overlap):
    model = DistributedDataParallel(network())
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.Adam, lr=0.01, parameters_as_bucket_view=overlap
    )
    train(model, optimizer, mine=share_of)
    optimizer.consolidate_state_dict(to=0)
    entries = len(optimizer.state_dict()["state"]) if dist.get_rank() == 0 else None
    return parameters(model), entries


@pytest.mark.parametrize("overlap", [False, True])
def test_zero_redundancy_optimizer(overlap):
    want = alone(make=lambda p: torch.optim.Adam(p, lr=0.01))
    answers = ranks.run(2, sharded, overlap)
    for got, _ in answers:
        assert torch.allclose(got, want, atol=1e-3)  # Adam may divide by tiny numbers
        assert torch.equal(got, answers[0][0])
    assert answers[0][1] == 6


HOOKS = {
    "allreduce": lambda model: model.register_comm_hook(None, default_hooks.allreduce_hook),
    "fp16": lambda model: model.register_comm_hook(None, default_hooks.fp16_compress_hook),
    "bf16": lambda model: model.register_comm_hook(None, tutti.torch.hooks.bf16_hook),
    "powerSGD": lambda model: model.register_comm_hook(
        powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=8, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook
    ),
    "shared_memory": lambda model: model.register_comm_hook(None, tutti.torch.hooks.shared_memory_hook),
    "wire": lambda model: model.register_comm_hook(None, tutti.torch.hooks.bf16_wire_hook),
    "step": lambda model: model.register_comm_hook(
        None, tutti.torch.hooks.step_hook(lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9))
    ),
    "fp16 of shared_memory": lambda model: model.register_comm_hook(
        None, default_hooks.fp16_compress_wrapper(tutti.torch.hooks.shared_memory_hook)
    ),
}


def hooked(name):
    model = DistributedDataParallel(network(), gradient_as_bucket_view=name == "shared_memory")
    HOOKS[name](model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for step in range(4):
        inputs, labels = map(share_of, batch(step))
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        if name != "step":
            optimizer.step()
    largest = max(model.parameters(), key=torch.Tensor.numel)
    return parameters(model), name == "shared_memory" and tutti.torch.is_shared(largest.grad)


@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name):
    want = alone()
    answers = ranks.run(2, hooked, name)
    for got, is_shared in answers:
        assert torch.equal(got, answers[0][0])
        assert torch.allclose(got, want, atol=0.05 if name == "powerSGD" else 2e-2 if "16" in name else 1e-4)
        assert is_shared == (name == "shared_memory")


def loaded():
    data = TensorDataset(torch.arange(21))
    sampler = DistributedSampler(data, shuffle=True, seed=3)
    sampler.set_epoch(2)
    seen = [int(value) for (part,) in DataLoader(data, batch_size=2, sampler=sampler, num_workers=1) for value in part]
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, seen)
    return gathered


def test_an_unknown_wire_format_is_rejected_immediately():
    for make in (tutti.torch.hooks.wire_hook, lambda form: tutti.torch.hooks.step_hook(torch.optim.SGD, form)):
        with pytest.raises(Exception, match="zip"):
            make("zip")


def test_distributed_sampler_and_forked_loaders():
    seen = ranks.run(3, loaded)[0]
    assert sorted(value for part in seen for value in part) == list(range(21))


def memory():
    """Tensors in library-allocated memory, individually and for all large tensors."""
    first = tutti.torch.empty(3, 5, dtype=torch.int64).fill_(dist.get_rank())
    dist.all_reduce(first)
    base = torch.full((300, 300), float(dist.get_rank()))
    view = base[7]
    moved = tutti.torch.share(base)
    dist.all_reduce(base)
    tutti.torch.use_shared_memory(1 << 16)
    large, small = torch.ones(1 << 15), torch.ones(10)
    dist.all_reduce(large)
    grown = torch.ones(1 << 14)
    grown.resize_(1 << 16).fill_(3)
    convolved = torch.nn.Conv2d(3, 64, 3, padding=1)(torch.ones(4, 3, 64, 64)).sum()  # oneDNN uses a separate allocator
    convolved.backward()
    tutti.torch.use_shared_memory(0)
    later = torch.ones(1 << 15)
    told = list(map(tutti.torch.is_shared, (first, base, view, large, grown, small, later)))
    return told, moved, first.sum().item(), view.sum().item(), large.sum().item(), grown.sum().item()


def test_tensors_in_library_memory():
    for told, moved, *sums in ranks.run(2, memory):
        assert told == [True] * 5 + [False] * 2
        assert moved
        assert sums == [15, 300, 1 << 16, 3 << 16]
