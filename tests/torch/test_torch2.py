"""Interfaces of torch 2.x on the backend `ddl`: functional collectives, DTensor, torch.compile, checkpoints, pipelines."""

import copy
import inspect

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ranks
import tutti.torch
from tutti.torch import compat

pytestmark = pytest.mark.skipif(
    compat.VERSION < (2, 6), reason=f"torch {torch.__version__} lacks these interfaces; 2.6 or later has them"
)


def with_both(function):
    """Returns the results of `function(group)` on the default group and on Gloo."""
    gloo = dist.new_group(backend="gloo")
    results = function(dist.group.WORLD), function(gloo)
    dist.destroy_process_group(gloo)
    return results


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name


def numbers(rank, *shape):
    """Small integers, whose sums are exact."""
    return ((torch.arange(torch.Size(shape).numel()) * 5 + rank * 3) % 7).float().reshape(shape)


def functional_collectives():
    import torch.distributed._functional_collectives as functional

    rank, size = dist.get_rank(), dist.get_world_size()

    def results(group):
        mine, whole = numbers(rank, 4, 3), numbers(rank, 4 * size, 3)
        found = {
            "all_reduce": functional.all_reduce(mine, "sum", group),
            "all_reduce max": functional.all_reduce(mine, "max", group),
            "broadcast": functional.broadcast(mine, size - 1, group),
            "all_gather": functional.all_gather_tensor(mine, 0, group),
            "all_gather by columns": functional.all_gather_tensor(mine, 1, group),
            "reduce_scatter": functional.reduce_scatter_tensor(whole, "sum", 0, group),
            "all_to_all": functional.all_to_all_single(whole, None, None, group),
        }
        lists = {
            "all_reduce_coalesced": functional.all_reduce_coalesced([mine, mine + 1], "sum", group),
            "all_gather_coalesced": functional.all_gather_into_tensor_coalesced([mine, mine[:2]], group),
            "reduce_scatter_coalesced": functional.reduce_scatter_tensor_coalesced([whole, whole + 1], "sum", [0, 0], group),
        }
        found.update({f"{name} {index}": tensor for name, list in lists.items() for index, tensor in enumerate(list)})
        return {name: tensor + 0 for name, tensor in found.items()}  # waits

    assert_same(*with_both(results))
    average = functional.reduce_scatter_tensor(torch.full((size,), rank + 1.0), "avg", 0, dist.group.WORLD) + 0
    assert average.item() == (size + 1) / 2


@pytest.mark.parametrize("size", [1, 2, 3])
def test_functional_collectives(size):
    ranks.run(size, functional_collectives)


def coalesced():
    from torch.distributed.distributed_c10d import _coalescing_manager

    rank, size = dist.get_rank(), dist.get_world_size()

    def results(group):
        sums = [numbers(rank, 5), numbers(rank + 1, 2, 2)]
        with _coalescing_manager(group):
            for tensor in sums:
                dist.all_reduce(tensor, group=group)
        gathered = [torch.empty(size * 3), torch.empty(size * 2)]
        with _coalescing_manager(group, async_ops=True) as works:
            for tensor, count in zip(gathered, (3, 2)):
                dist.all_gather_into_tensor(tensor, numbers(rank, count), group=group)
        works.wait()
        parts = [torch.empty(3), torch.empty(2)]
        with _coalescing_manager(group):
            for tensor, count in zip(parts, (3, 2)):
                dist.reduce_scatter_tensor(tensor, numbers(rank, size * count), group=group)
        return {str(index): tensor for index, tensor in enumerate(sums + gathered + parts)}

    assert_same(*with_both(results))


def test_coalescing_manager():
    ranks.run(3, coalesced)


def with_devices():
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    dist.monitored_barrier()
    dist.all_reduce(tensor, group=dist.new_group([0, 1]))
    assert "all_reduce" in tutti.torch.description()
    return tensor.tolist()


def test_backend_by_device():
    assert ranks.run(2, with_devices, backend="cpu:ddl") == [[4.0] * 3] * 2


def objects():
    rank, size = dist.get_rank(), dist.get_world_size()
    pair = dist.new_group([1, 2])
    if rank:
        received = [None]
        if dist.get_rank(pair) == 0:
            dist.send_object_list([{"from": rank}], group=pair, group_dst=1)
        else:
            dist.recv_object_list(received, group=pair, group_src=0)
            assert received == [{"from": 1}]
        first = [f"rank {rank}"]
        dist.broadcast_object_list(first, group=pair, group_src=1)
        assert first == ["rank 2"]
    mine = [None]
    dist.scatter_object_list(mine, [{"for": other} for other in range(size)] if rank == 0 else None, src=0)
    assert mine == [{"for": rank}]
    collected = [None] * size if rank == 1 else None
    dist.gather_object({"rank": rank}, collected, dst=1)
    assert rank != 1 or [one["rank"] for one in collected] == list(range(size))


def test_object_collectives():
    ranks.run(3, objects)


def meshes():
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    rank = dist.get_rank()
    totals = []
    for name in mesh.mesh_dim_names:
        tensor = torch.tensor([float(rank)])
        dist.all_reduce(tensor, group=mesh.get_group(name))
        totals.append(tensor.item())
    return totals


def test_device_mesh():
    assert ranks.run(4, meshes) == [[2, 1], [4, 1], [2, 5], [4, 5]]


def distributed_tensors():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (2, 2))
    whole = numbers(0, 7, 5)  # uneven shards
    for placements in ([Shard(0), Replicate()], [Shard(0), Shard(1)], [Replicate(), Shard(1)], [Shard(1), Shard(1)]):
        tensor = distribute_tensor(whole, mesh, placements)
        assert torch.equal(tensor.full_tensor(), whole), placements
        moved = tensor.redistribute(mesh, [Shard(1), Shard(0)])
        assert torch.equal(moved.full_tensor(), whole), placements
    product = distribute_tensor(whole, mesh, [Shard(1), Replicate()]) @ distribute_tensor(whole.t(), mesh, [Shard(0), Replicate()])
    assert torch.equal(product.full_tensor(), whole @ whole.t())
    partial = DTensor.from_local(numbers(dist.get_rank(), 4, 4), mesh, [Partial(), Partial()])
    assert torch.equal(partial.redistribute(mesh, [Shard(0), Shard(1)]).full_tensor(), sum(numbers(r, 4, 4) for r in range(4)))


def test_distributed_tensors():
    ranks.run(4, distributed_tensors)


def perceptron():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))


def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = parallelize_module(perceptron(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    wanted = perceptron()
    inputs = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    got, want = model(inputs), wanted(inputs)
    assert torch.allclose(got, want, atol=1e-5)
    got.square().sum().backward()
    want.square().sum().backward()
    for one, other in zip(model.parameters(), wanted.parameters(), strict=True):
        assert torch.allclose(one.grad.full_tensor(), other.grad, atol=1e-4)


def test_tensor_parallel():
    ranks.run(2, tensor_parallel)


def steps(model, optimizer, count=3):
    for step in range(count):
        inputs = torch.randn(4, 6, generator=torch.Generator().manual_seed(10 * step + dist.get_rank()))
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def compiled():
    torch.manual_seed(0)
    trained = []
    for wrap in (
        lambda model: DistributedDataParallel(model),
        lambda model: torch.compile(DistributedDataParallel(model), backend="aot_eager"),
        lambda model: DistributedDataParallel(torch.compile(model, backend="aot_eager")),
    ):
        model = wrap(perceptron())
        trained.append(steps(model, torch.optim.SGD(model.parameters(), 0.1)))
    return trained


def test_compile_with_ddp():
    for plain, *others in ranks.run(2, compiled):
        for other in others:
            assert torch.allclose(plain, other, atol=1e-6)


def compiled_collective():
    import torch.distributed._functional_collectives as functional

    @torch.compile(backend="aot_eager", fullgraph=True)
    def total(tensor):
        return functional.all_reduce(tensor * 2, "sum", dist.group.WORLD) + 1

    return total(torch.ones(3)).tolist()


def test_compiled_functional_collective():
    assert ranks.run(2, compiled_collective) == [[5.0] * 3] * 2


def saved(folder):
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    whole = numbers(1, 8, 6)
    model = DistributedDataParallel(perceptron())
    state = {"sharded": distribute_tensor(whole, mesh, [Shard(0)]), "model": model.module.state_dict(), "step": 5}
    checkpoint.save(state, checkpoint_id=folder)
    dist.barrier()
    other = {
        "sharded": distribute_tensor(torch.zeros(8, 6), mesh, [Shard(1)]),  # by other dimension
        "model": {name: torch.zeros_like(tensor) for name, tensor in state["model"].items()},
        "step": 0,
    }
    checkpoint.load(other, checkpoint_id=folder)
    assert torch.equal(other["sharded"].full_tensor(), whole)
    assert other["step"] == 5
    assert_same(other["model"], state["model"])
    checkpoint.async_save({"model": state["model"]}, checkpoint_id=f"{folder}/later").result()


def test_distributed_checkpoint(tmp_path):
    ranks.run(2, saved, str(tmp_path))
    assert (tmp_path / "later/.metadata").exists()


def pipelined():
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    layers = [nn.Linear(6, 6) for _ in range(size)]
    whole = nn.Sequential(*copy.deepcopy(layers))
    inputs, target = numbers(0, 8, 6), numbers(1, 8, 6)
    mine = layers[rank]
    loss_of = nn.MSELoss(reduction="sum")
    unscaled = {"scale_grads": False} if "scale_grads" in inspect.signature(ScheduleGPipe.__init__).parameters else {}
    schedule = ScheduleGPipe(PipelineStage(mine, rank, size, torch.device("cpu")), 4, loss_fn=loss_of, **unscaled)
    losses = []
    if rank == 0:
        schedule.step(inputs)
    else:
        schedule.step(**({"target": target, "losses": losses} if rank == size - 1 else {}))
    loss_of(whole(inputs), target).backward()
    for got, want in zip(mine.parameters(), whole[rank].parameters(), strict=True):
        assert torch.allclose(got.grad, want.grad, rtol=1e-4, atol=1e-3)


def test_pipelining():
    ranks.run(3, pipelined)


def flat_sharded():
    from torch.distributed.fsdp import FullyShardedDataParallel

    reference = DistributedDataParallel(perceptron())
    want = steps(reference, torch.optim.SGD(reference.parameters(), 0.1))
    model = FullyShardedDataParallel(perceptron(), device_id=torch.device("cpu"))
    steps(model, torch.optim.SGD(model.parameters(), 0.1))
    with FullyShardedDataParallel.summon_full_params(model):
        got = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    assert torch.allclose(got, want, atol=1e-5)


def test_fully_sharded_data_parallel():
    ranks.run(2, flat_sharded)


def fully_sharded():
    from torch.distributed.device_mesh import init_device_mesh

    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        from torch.distributed._composable.fsdp import fully_shard
    reference = DistributedDataParallel(perceptron())
    want = steps(reference, torch.optim.SGD(reference.parameters(), 0.1))
    model = perceptron()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    steps(model, optimizer)
    got = torch.cat([parameter.full_tensor().detach().flatten() for parameter in model.parameters()])
    assert torch.allclose(got, want, atol=1e-5)


@pytest.mark.skipif(compat.VERSION < (2, 7), reason="fully_shard of torch 2.6 uses stream functions that the CPU lacks")
def test_fully_shard():
    ranks.run(2, fully_sharded)


def ended_groups():
    """Groups end in any order, and the default group can be created again."""
    groups = [dist.new_group([0, 1]) for _ in range(3)]
    for group in groups[1:]:
        dist.destroy_process_group(group)
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=groups[0])
    backend = groups[0]._get_backend(torch.device("cpu"))
    dist.all_reduce(tensor)
    for function in ("shutdown", "abort"):
        if hasattr(backend, function):
            getattr(dist.new_group([0, 1])._get_backend(torch.device("cpu")), function)()
    dist.all_reduce(tensor)
    return tensor.item()


def test_groups_end():
    assert ranks.run(2, ended_groups) == [8.0] * 2


def with_replicate():
    from torch.distributed._composable.replicate import replicate

    model = replicate(perceptron())
    reference = DistributedDataParallel(perceptron())
    got = steps(model, torch.optim.SGD(model.parameters(), 0.1))
    assert torch.equal(got, steps(reference, torch.optim.SGD(reference.parameters(), 0.1)))


def test_replicate():
    ranks.run(2, with_replicate)
