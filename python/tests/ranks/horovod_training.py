"""Training with DistributedOptimizer, broadcasts of states, SyncBatchNorm: checked on every rank."""

import copy
import sys

import checks
import torch
from horovod_networks import assert_close, loss_of, network, train, train_whole

import tutti.horovod.torch as hvd
from tutti import _comm

hvd.init()
rank, size = hvd.rank(), hvd.size()


def check_training_is_that_of_one_process_with_all_batches():
    for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, lr=0.01)):
        model, reference = network(), network()
        optimizer = train(model, make(model.parameters()), 5)
        train_whole(reference, make(reference.parameters()), 5)
        assert_close(model, reference)
        assert isinstance(optimizer, torch.optim.Optimizer) and type(optimizer).__name__ in ("SGD", "Adam")
        whole = hvd.allgather(torch.cat([p.detach().flatten() for p in model.parameters()]).view(1, -1))
        assert (whole == whole[0]).all()  # bitwise identical


def check_accumulation_sum_and_predivision():
    for options, scale in (({}, 1.0), ({"op": hvd.Sum}, float(size)), ({"gradient_predivide_factor": 4.0}, 1.0)):
        model, reference = network(), network()
        train(model, torch.optim.SGD(model.parameters(), lr=0.05), 3, passes=3, **options)
        train_whole(reference, torch.optim.SGD(reference.parameters(), lr=0.05), 3, 3, scale)
        assert_close(model, reference, 1e-4)


def check_compression():
    class Half:  # a custom compressor
        @staticmethod
        def compress(tensor):
            return tensor.half(), tensor.dtype

        @staticmethod
        def decompress(tensor, ctx):
            return tensor.to(ctx)

    for compression in (hvd.Compression.fp16, hvd.Compression.bf16, Half):
        model, reference = network(), network()
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), 3, compression=compression)
        train_whole(reference, torch.optim.SGD(reference.parameters(), lr=0.1), 3)
        assert_close(model, reference, 2e-2)


def check_gradients_lie_in_library_memory():
    if size == 1:
        return
    model = network()
    before = _comm.statistics()["copied_bytes"]
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    for step in range(3):
        optimizer.zero_grad(set_to_none=False)
        loss_of(model, step, rank).backward()
        optimizer.step()
        addresses = [p.grad.data_ptr() for p in model.parameters()]
        if step > 0:
            assert addresses == last
        last = addresses
    assert _comm.statistics()["copied_bytes"] == before


def check_parameters_that_some_ranks_do_not_use():
    if size == 1:
        return
    parts = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 3, bias=False), "b": torch.nn.Linear(3, 3, bias=False)})
    hvd.broadcast_parameters(parts.state_dict(), 0)
    start = copy.deepcopy(parts.state_dict())
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parts.parameters(), lr=1.0), parts.named_parameters())
    for step in range(3):
        optimizer.zero_grad(set_to_none=True)
        parts["a" if rank == 0 else "b"](torch.ones(1, 3)).sum().backward()
        optimizer.step()
    assert torch.allclose(parts["a"].weight, start["a.weight"] - 3 / size)
    assert torch.allclose(parts["b"].weight, start["b.weight"] - 3 * (size - 1) / size, atol=1e-6)


def check_clipping():
    model = network()
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    loss_of(model, 0, rank).backward()
    optimizer.synchronize()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    before = [p.detach().clone() for p in model.parameters()]
    with optimizer.skip_synchronize():
        optimizer.step()
    assert sum(((p - b) ** 2).sum() for p, b in zip(model.parameters(), before)).sqrt() < 1.01e-4


def check_mistakes_are_named():
    model = network()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    pairs = list(model.named_parameters())
    checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, pairs[:2]), "DDL-4-97", "missing")
    checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, [("same", p) for _, p in pairs]), "unique")
    checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, model.parameters()), "pairs")
    checks.raises(ValueError, lambda: hvd.DistributedOptimizer(sgd, op=hvd.Sum, gradient_predivide_factor=2.0), "DDL-4-96")
    if size == 1:
        return
    optimizer = hvd.DistributedOptimizer(sgd, pairs)
    loss_of(model, 0, rank).backward()
    checks.raises(AssertionError, optimizer.zero_grad, "DDL-4-99")
    optimizer.synchronize()
    optimizer.zero_grad()
    loss_of(model, 0, rank).backward()
    checks.raises((AssertionError, RuntimeError), lambda: loss_of(model, 0, rank).backward(), "backward_passes_per_step")
    optimizer.synchronize()


def check_sparse_gradients():
    for dense in (False, True):
        torch.manual_seed(3)
        table, reference = torch.nn.Embedding(10, 4, sparse=True), torch.nn.Embedding(10, 4)
        reference.load_state_dict(table.state_dict())
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=1.0), sparse_as_dense=dense)
        other = torch.optim.SGD(reference.parameters(), lr=1.0)
        for step in range(3):
            optimizer.zero_grad(set_to_none=True)
            other.zero_grad()
            table(torch.tensor([rank, rank, step])).sum().backward()
            for r in range(size):
                (reference(torch.tensor([r, r, step])).sum() / size).backward()
            optimizer.step()
            other.step()
        assert_close(table, reference)


def check_adasum_optimizer():
    model = network()
    before = copy.deepcopy(model)
    torch.manual_seed(5)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), op=hvd.Adasum)
    loss_of(model, 0, 0).backward()  # identical on all ranks, so the update is that of one rank
    optimizer.step()
    reference = torch.optim.SGD(before.parameters(), lr=0.1)
    loss_of(before, 0, 0).backward()
    reference.step()
    assert_close(model, before)


def check_states_of_models_and_optimizers_are_sent():
    model = network(seed=rank)
    hvd.broadcast_parameters(model.state_dict(), 0)
    assert_close(model, network(seed=0), 0)
    hvd.broadcast_parameters(model.named_parameters(), root_rank=size - 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 * (rank + 1), betas=(0.8, 0.99))
    if rank == 0:
        loss_of(model, 0, 0).backward()
        optimizer.step()
    hvd.broadcast_optimizer_state(optimizer, 0)
    assert optimizer.param_groups[0]["lr"] == 0.1 and optimizer.param_groups[0]["betas"] == (0.8, 0.99)
    moments = optimizer.state[next(model.parameters())]["exp_avg"]
    assert moments.abs().sum() > 0 and torch.equal(hvd.broadcast(moments, 0), moments)
    checks.raises(ValueError, lambda: hvd.broadcast_optimizer_state(torch.optim.LBFGS(model.parameters()), 0), "LBFGS")


def check_sync_batch_norm():
    torch.manual_seed(7)
    whole = torch.randn(4 * size, 5, 3, dtype=torch.float64)
    reference = torch.nn.BatchNorm1d(5).double()
    layer = hvd.SyncBatchNorm(5).double()
    mine = whole[4 * rank : 4 * rank + 4].clone().requires_grad_()
    whole.requires_grad_()
    weights = torch.randn(4 * size, 5, 3, dtype=torch.float64)
    expected = reference(whole)
    (expected * weights).sum().backward()
    got = layer(mine)
    (got * weights[4 * rank : 4 * rank + 4]).sum().backward()
    assert torch.allclose(got, expected[4 * rank : 4 * rank + 4])
    assert torch.allclose(mine.grad, whole.grad[4 * rank : 4 * rank + 4], atol=1e-8)
    assert torch.allclose(layer.running_var, reference.running_var) and torch.allclose(layer.running_mean, reference.running_mean)
    layer.eval(), reference.eval()
    assert torch.allclose(layer(mine), reference(mine))


def check_sync_batch_norm_far_from_zero():
    torch.manual_seed(8)
    rows = [3 + r for r in range(size)]
    whole = torch.randn(sum(rows), 2) + 3000
    mine = whole.split(rows)[rank]
    reference = torch.nn.BatchNorm1d(2)(whole)
    assert torch.allclose(hvd.SyncBatchNorm(2)(mine), reference.split(rows)[rank], atol=2e-3)


checks.run(sys.modules[__name__])
