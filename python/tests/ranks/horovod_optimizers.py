"""DistributedOptimizer with every optimizer of torch and all usage patterns of scripts, checked on every rank."""

import itertools
import sys
import warnings

import checks
import torch
from horovod_networks import assert_close, loss_of, network, train, train_whole

import tutti.horovod.torch as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()
OPTIMIZERS = sorted(
    (
        kind
        for kind in torch.optim.Optimizer.__subclasses__()
        if kind.__module__.startswith("torch.optim") and kind not in (torch.optim.LBFGS, torch.optim.SparseAdam)
    ),
    key=lambda kind: kind.__name__,
)


def assert_same_everywhere(value):
    for other in hvd.allgather_object(value):
        assert_same(other, value)


def assert_same(a, b):
    assert type(a) is type(b), (a, b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            assert_same(one, other)
    else:
        assert torch.equal(a, b) if torch.is_tensor(a) else a == b, (a, b)


def check_every_optimizer_trains_as_in_one_process():
    assert len(OPTIMIZERS) > 8
    for kind in OPTIMIZERS:
        model, reference = network().double(), network().double()
        optimizer = train(model, kind(model.parameters(), lr=0.01), 3)
        train_whole(reference, kind(reference.parameters(), lr=0.01), 3)
        assert_close(model, reference, 1e-8)
        assert isinstance(optimizer, kind) and type(optimizer).__name__ == kind.__name__
        assert_same_everywhere(model.state_dict())


def check_the_state_of_every_optimizer_is_sent():
    for kind in OPTIMIZERS:
        old_model = network()
        old = train(old_model, kind(old_model.parameters(), lr=0.01), 1)
        # As after a restart: rank 0 has read a checkpoint, the others start from scratch.
        model = network(seed=rank)
        options = {"betas": (0.5, 0.6)} if rank > 0 and "betas" in old.param_groups[0] else {}
        optimizer = kind(model.parameters(), lr=0.01 + rank, **options)
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
        if rank == 0:
            model.load_state_dict(old_model.state_dict())
            optimizer.load_state_dict(old.state_dict())
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        assert_close(model, old_model, 0)
        assert_same(optimizer.state_dict(), old.state_dict())
        optimizer.zero_grad()
        loss_of(model, 1, rank).backward()
        optimizer.step()
        assert_same_everywhere([optimizer.state_dict(), model.state_dict()])


def check_a_new_optimizer_is_sent_too():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 * (rank + 1))
    optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters())
    hvd.broadcast_optimizer_state(optimizer, root_rank=size - 1)
    assert optimizer.param_groups[0]["lr"] == 0.1 * size
    loss_of(model, 0, rank).backward()
    optimizer.step()
    assert_same_everywhere(optimizer.state_dict())


def check_parameters_without_gradients():
    class Chosen(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.indices = torch.nn.Parameter(torch.tensor([1, 3 + rank], dtype=torch.int32), requires_grad=False)
            self.values = torch.nn.Parameter(torch.rand(5))

        def forward(self, x):
            return self.values[self.indices.long()] * x

    model = Chosen()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    start = model.values.detach().clone()
    model(torch.ones(2)).sum().backward()
    optimizer.step()
    assert model.indices.tolist() == [1, 3] and model.indices.grad is None
    assert torch.allclose(start - model.values.detach(), torch.tensor([0.0, 0.19, 0.0, 0.19, 0.0]))
    assert_same_everywhere(model.state_dict())


def check_gradients_are_turned_off_and_on():
    def gan(make):
        torch.manual_seed(1)
        parts = [torch.nn.Linear(3, 5), torch.nn.Linear(5, 1)]
        return parts, [make(part) for part in parts]

    def step(parts, optimizers, trained, batches):
        for part, is_trained in zip(parts, (trained == 0, trained == 1)):
            part.requires_grad_(is_trained)
        for optimizer in optimizers:
            optimizer.zero_grad()
        for batch in batches:
            (parts[1](torch.tanh(parts[0](batch))).sum() / len(batches)).backward()
        for i, part in enumerate(parts):
            assert all((p.grad is not None and p.grad.abs().max() > 0) == (i == trained) for p in part.parameters())
        optimizers[trained].step()

    def distributed(part):
        return hvd.DistributedOptimizer(torch.optim.SGD(part.parameters(), lr=0.1), part.named_parameters())

    ours = gan(distributed)
    reference = gan(lambda part: torch.optim.SGD(part.parameters(), lr=0.1))
    torch.manual_seed(2)
    for trained in [0, 1] * 5:
        batches = torch.randn(size, 4, 3)
        step(*ours, trained, [batches[rank]])
        step(*reference, trained, list(batches))
    for part, other in zip(ours[0], reference[0]):
        assert_close(part, other)


def check_step_after_synchronize_warns():
    if size == 1:
        return
    model = network()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    reference = network()
    train_whole(reference, torch.optim.SGD(reference.parameters(), lr=0.1), 1)
    loss_of(model, 0, rank).backward()
    optimizer.synchronize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer.step()
    assert len(caught) == 1 and "optimizer.step() called without optimizer.skip_synchronize()" in str(caught[0].message)
    assert_close(model, reference)  # the average of averages
    loss_of(model, 0, rank).backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.synchronize()
        with optimizer.skip_synchronize():
            optimizer.step()


def check_parameter_groups_without_names():
    model, reference = network(), network()

    def make(model):
        return torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.2}, {"params": model[2:].parameters()}], lr=0.1)

    optimizer = hvd.DistributedOptimizer(make(model))
    names = list(optimizer._parameter_names.values())
    assert len(set(names)) == len(names) == 6
    assert_same_everywhere(names)
    for step in range(2):
        optimizer.zero_grad()
        loss_of(model, step, rank).backward()
        optimizer.step()
    train_whole(reference, make(reference), 2)
    assert_close(model, reference)


def check_groups():
    for options in ({"num_groups": 2}, {"groups": 2}, {"groups": "layers"}):
        model, reference = network(), network()
        if "layers" in options.values():
            options = {"groups": [list(model[0].parameters()), [model[2].weight]]}
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 2, **options)
        train_whole(reference, torch.optim.SGD(reference.parameters(), lr=0.1), 2)
        assert_close(model, reference)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    for groups in (0, -1, "two", [[model[0].weight, model[0].weight]], [["0.weight"]]):
        checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, groups=groups), "DDL-4-96")  # noqa: B023
    checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, backward_passes_per_step=0), "DDL-4-96")
    names = itertools.chain(model[0].named_parameters(), model[2].named_parameters())
    checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, names), "unique", "bias, weight")


def check_the_number_of_passes_changes():
    model, reference = network(), network()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    other = torch.optim.SGD(reference.parameters(), lr=0.1)
    batch = 0
    for announced, done in ((1, 1), (3, 3), (3, 2), (2, 2)):  # step() may be called before the announced number of passes
        optimizer.set_backward_passes_per_step(announced)
        optimizer.zero_grad()
        other.zero_grad()
        for step in range(batch, batch + done):
            loss_of(model, step, rank).backward()
            for r in range(size):
                (loss_of(reference, step, r) / size).backward()
        batch += done
        optimizer.step()
        other.step()
        assert_close(model, reference)


def check_sparse_gradients_are_sparse_in_the_step():
    for as_dense, passes in itertools.product((False, True), (1, 2)):
        torch.manual_seed(3)
        table, reference = torch.nn.Embedding(10, 3, sparse=True), torch.nn.Embedding(10, 3, sparse=True)
        reference.load_state_dict(table.state_dict())
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SparseAdam(list(table.parameters()), lr=0.1), backward_passes_per_step=passes, sparse_as_dense=as_dense
        )
        other = torch.optim.SparseAdam(list(reference.parameters()), lr=0.1)
        for step in range(4):
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            other.zero_grad()
            for p, r in itertools.product(range(passes), range(size)):
                indices = torch.tensor([[r, step, 9 - r], [step, p, r]])
                (reference(indices).sum() / size).backward()
                table(indices).sum().backward() if r == rank else None
            optimizer.step()
            other.step()
            assert table.weight.grad.is_sparse
        assert_close(table, reference)


def check_sparse_allreduce():
    torch.manual_seed(4)
    whole = torch.rand(size, 5, 17, 3)
    whole[whole < 0.8] = 0
    whole[:, 4] = 0  # nothing at all
    handles = [hvd.sparse_allreduce_async(t.to_sparse(), op=hvd.Average, name=f"sparse.{i}") for i, t in enumerate(whole[rank])]
    for i, handle in enumerate(handles):
        result = handle()
        assert result.is_sparse and torch.allclose(result.to_dense(), whole[:, i].mean(0))


checks.run(sys.modules[__name__])
