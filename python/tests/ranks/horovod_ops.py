"""The collectives of tutti.horovod.torch, checked on every rank."""

import itertools
import json
import os
import sys
import tempfile

import checks
import torch

import tutti.horovod.torch as hvd

checks.raises(ValueError, hvd.rank, "DDL-4-60")
hvd.init()
hvd.init()
rank, size = hvd.rank(), hvd.size()
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def same_everywhere(shape, dtype):
    torch.manual_seed(1234)
    return torch.randint(0, 5, shape).to(dtype)


def check_who_i_am():
    assert (hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()) == (rank, size, 0, 1)
    assert hvd.is_initialized() and hvd.is_homogeneous() and hvd.ddl_built() and not hvd.nccl_built()


def check_allreduce_types_and_shapes():
    for dtype, dim in itertools.product(INTEGERS + FLOATS, (1, 2, 3)):
        tensor = same_everywhere([7] * dim, dtype)
        total = hvd.allreduce(tensor, op=hvd.Sum)
        assert total.dtype == dtype and torch.equal(total, tensor * size)
        assert torch.equal(tensor, same_everywhere([7] * dim, dtype))
        assert torch.allclose(hvd.allreduce(tensor).float(), tensor.float())  # the average
        assert torch.equal(hvd.allreduce(tensor, average=False), total)
        copy = tensor.clone()
        assert hvd.allreduce_(copy, op=hvd.Sum) is copy and torch.equal(copy, total)
    number = hvd.allreduce(torch.tensor(float(rank)), op=hvd.Sum)
    assert number.shape == () and number == size * (size - 1) / 2
    assert hvd.allreduce(torch.empty(0)).shape == (0,)
    checks.raises(ValueError, lambda: hvd.allreduce(number, average=True, op=hvd.Sum), "DDL-4-90")


def check_min_max_product():
    mine = torch.tensor([rank, -rank, 2])
    assert hvd.allreduce(mine, op=hvd.Min).tolist() == [0, 1 - size, 2]
    assert hvd.allreduce(mine, op=hvd.Max).tolist() == [size - 1, 0, 2]
    assert hvd.allreduce(mine, op=hvd.Product)[2] == 2**size


def check_scales():
    ones = torch.ones(5)
    assert torch.allclose(hvd.allreduce(ones, op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0), ones * 1.5 * size)
    twos = torch.full((4,), 2, dtype=torch.int32)
    assert hvd.allreduce(twos, op=hvd.Sum, prescale_factor=1.6).tolist() == [3 * size] * 4  # cut to 3 first


def check_many_at_once_in_any_order():
    names = list(range(40))
    for step in range(3):
        order = names if (rank + step) % 2 else names[::-1]
        handles = {i: hvd.allreduce_async_(torch.full((i * 13 + 1,), float(i)), name=f"many.{i}", op=hvd.Sum) for i in order}
        while not all(hvd.poll(handle) for handle in handles.values()):
            pass
        for i in names:
            assert torch.equal(hvd.synchronize(handles[i]), torch.full((i * 13 + 1,), float(i * size)))


def check_grouped():
    tensors = [same_everywhere([n, 3], dtype) for n, dtype in ((5, torch.float32), (1, torch.float64), (2, torch.float32))]
    for got, tensor in zip(hvd.grouped_allreduce(tensors, op=hvd.Sum), tensors):
        assert got.dtype == tensor.dtype and torch.equal(got, tensor * size)
    results = hvd.synchronize(hvd.grouped_allreduce_async(tensors, name="group"))
    assert all(torch.allclose(got, tensor) for got, tensor in zip(results, tensors))
    copies = [tensor.clone() for tensor in tensors]
    hvd.grouped_allreduce_(copies, op=hvd.Sum)
    assert all(torch.equal(copy, tensor * size) for copy, tensor in zip(copies, tensors))


def check_compression():
    tensor = torch.randn(1000)
    hvd.broadcast_(tensor, 0)
    for kind, tolerance in ((hvd.Compression.fp16, 1e-2), (hvd.Compression.bf16, 1e-1), (hvd.Compression.int8, 1e-1)):
        assert torch.allclose(hvd.allreduce(tensor, compression=kind), tensor, atol=tolerance)
    packed, ctx = hvd.Compression.fp16.compress(tensor)
    assert packed.dtype == torch.float16 and hvd.Compression.fp16.decompress(packed, ctx).dtype == torch.float32
    wide = torch.ones(3, dtype=torch.float64)
    assert hvd.allreduce(wide, compression=hvd.Compression.fp16).dtype == torch.float64


def check_gradients_flow():
    ones = torch.ones(3, 2, requires_grad=True)
    hvd.allreduce(ones, op=hvd.Sum).sum().backward()
    assert torch.equal(ones.grad, torch.full((3, 2), float(size)))
    ones.grad = None
    a, b = hvd.grouped_allreduce([ones, ones * 2])
    (a.sum() + b.sum()).backward()
    assert torch.equal(ones.grad, torch.full((3, 2), 3.0))
    rows = torch.ones(rank + 1, 2, requires_grad=True)
    gathered = hvd.allgather(rows)
    gathered.backward(torch.full_like(gathered, float(rank)))
    assert torch.allclose(rows.grad, torch.full((rank + 1, 2), (size - 1) / 2))
    sent = torch.ones(4, requires_grad=True)
    hvd.broadcast(sent, size - 1).sum().backward()
    assert torch.equal(sent.grad, torch.full((4,), 1.0 if rank == size - 1 else 0.0))
    parcels = torch.ones(size * 2, 3, requires_grad=True)
    got = hvd.alltoall(parcels)
    got.backward(torch.full_like(got, float(rank)))
    assert parcels.grad[:, 0].tolist() == [float(r) for r in range(size) for _ in range(2)]
    whole = torch.ones(size * 4, 2, requires_grad=True)
    hvd.reducescatter(whole, op=hvd.Sum).sum().backward()
    assert torch.equal(whole.grad, torch.full((size * 4, 2), float(size)))


def check_allgather():
    for dtype in [torch.bool, torch.complex64, *INTEGERS, *FLOATS]:
        mine = torch.full((rank + 1, 3), rank, dtype=torch.uint8).to(dtype)
        whole = hvd.allgather(mine)
        assert whole.dtype == dtype and whole.shape == (size * (size + 1) // 2, 3)
        for r, part in enumerate(whole.split([r + 1 for r in range(size)])):
            assert torch.equal(part, torch.full((r + 1, 3), r, dtype=torch.uint8).to(dtype))
    assert hvd.allgather(torch.empty(0, 5)).shape == (0, 5)
    assert hvd.allgather(torch.ones(3 if rank == 0 else 0)).shape == (3,)
    pair = hvd.grouped_allgather([torch.full((2,), rank), torch.full((1, 2), float(rank))], name="pair")
    assert pair[0].tolist() == [r for r in range(size) for _ in range(2)] and pair[1].shape == (size, 2)


def check_broadcast():
    for dtype, root in itertools.product([torch.bool, *INTEGERS, *FLOATS], range(size)):
        tensor = torch.full((3, 2), rank + 1).to(dtype)
        got = hvd.broadcast(tensor, root)
        assert torch.equal(got, torch.full((3, 2), root + 1).to(dtype)) and torch.equal(tensor, torch.full((3, 2), rank + 1).to(dtype))
        assert hvd.broadcast_(tensor, root) is tensor and torch.equal(tensor, got)
    checks.raises(ValueError, lambda: hvd.broadcast(torch.ones(1), size), "DDL-4-91")


def check_alltoall():
    splits = torch.tensor([rank + 1] * size)
    tensor = torch.cat([torch.full((rank + 1, 2), float(r)) for r in range(size)])
    got, received = hvd.alltoall(tensor, splits)
    assert received.tolist() == [r + 1 for r in range(size)] and (got == rank).all()
    assert got.shape == (size * (size + 1) // 2, 2)
    equal = hvd.alltoall(torch.arange(2 * size) + 100 * rank)
    assert equal.tolist() == [100 * r + 2 * rank + i for r in range(size) for i in range(2)]
    none, received = hvd.alltoall(torch.empty(0, 3), [0] * size)
    assert none.shape == (0, 3) and received.tolist() == [0] * size
    if size > 1:
        checks.raises(ValueError, lambda: hvd.alltoall(torch.ones(2 * size + 1)), "DDL-4-92")
    checks.raises(ValueError, lambda: hvd.alltoall(torch.ones(3), [1] * (size + 1)), "DDL-4-01")


def check_reducescatter():
    tensor = torch.arange(size * 2 + 1, dtype=torch.float32).view(-1, 1).repeat(1, 3)
    part = hvd.reducescatter(tensor, op=hvd.Sum)
    rows = [2 + (1 if r == 0 else 0) for r in range(size)]
    assert torch.equal(part, tensor[sum(rows[:rank]) : sum(rows[: rank + 1])] * size)
    group = hvd.grouped_reducescatter([torch.ones(size, dtype=torch.int32), torch.ones(size, dtype=torch.int32)], op=hvd.Sum)
    assert [p.tolist() for p in group] == [[size], [size]]
    assert torch.allclose(hvd.reducescatter(torch.ones(size), postscale_factor=2.0), torch.tensor([2.0]))
    checks.raises(ValueError, lambda: hvd.reducescatter(torch.tensor(1.0)), "DDL-4-93")


def check_objects():
    thing = {"rank": rank, "list": list(range(rank * 1000))}
    assert hvd.broadcast_object(thing, size - 1)["rank"] == size - 1
    assert [len(other["list"]) for other in hvd.allgather_object(thing, name="things")] == [1000 * r for r in range(size)]


def check_disagreements():
    if size == 1:
        return
    odd = rank == size - 1
    shapes = lambda: hvd.allreduce(torch.ones(17, 6) if odd else torch.ones(17, 2, 3), name="shapes")  # noqa: E731
    checks.raises(hvd.HorovodInternalError, shapes, "DDL-4-71", "shapes", "17x6", "17x2x3")
    types = lambda: hvd.allreduce(torch.ones(4, dtype=torch.float64 if odd else torch.float32), name="types")  # noqa: E731
    checks.raises(hvd.HorovodInternalError, types, "f64", "f32")
    roots = lambda: hvd.broadcast(torch.ones(4), int(odd), name="roots")  # noqa: E731
    checks.raises(hvd.HorovodInternalError, roots, "from rank 0", "from rank 1")
    kinds = lambda: hvd.allreduce(torch.ones(4), name="ops", op=hvd.Sum if odd else hvd.Average)  # noqa: E731
    checks.raises(hvd.HorovodInternalError, kinds, "sum", "average")
    rows = lambda: hvd.allgather(torch.ones(4, 2 + odd), name="rows")  # noqa: E731
    checks.raises(hvd.HorovodInternalError, rows, "2 f32 a row", "3 f32 a row")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_names_are_used_once_at_a_time():
    if size == 1:
        return
    if rank == 0:
        first = hvd.allreduce_async(torch.ones(3), name="twice")
        checks.raises(ValueError, lambda: hvd.allreduce_async(torch.ones(3), name="twice"), "DDL-4-75", "twice")
        hvd.barrier()
    else:
        hvd.barrier()
        first = hvd.allreduce_async(torch.ones(3), name="twice")
    assert torch.equal(hvd.synchronize(first), torch.ones(3))


def check_not_contiguous():
    gaps = torch.arange(12.0).view(3, 4).t()
    assert torch.equal(hvd.allreduce(gaps, op=hvd.Sum), gaps * size)
    checks.raises(ValueError, lambda: hvd.allreduce_(gaps), "contiguous")


def check_process_sets():
    if size == 1:
        return
    checks.raises(ValueError, lambda: hvd.allreduce(torch.ones(1), process_set=hvd.ProcessSet([0])), "DDL-4-84")
    even = hvd.add_process_set(range(0, size, 2))
    only = hvd.add_process_set(hvd.ProcessSet([size - 1]))
    assert even.included() == (rank % 2 == 0) and "ranks=[0" in str(even)
    if even.included():
        assert hvd.allreduce(torch.tensor(float(rank)), op=hvd.Sum, process_set=even) == sum(range(0, size, 2))
        assert hvd.allgather(torch.tensor([rank]), process_set=even).tolist() == list(range(0, size, 2))
        assert hvd.broadcast(torch.tensor([rank]), even.ranks[-1], process_set=even).item() == even.ranks[-1]
        hvd.barrier(process_set=even)
        assert (even.size(), even.rank()) == ((size + 1) // 2, rank // 2)
    else:
        checks.raises(ValueError, lambda: hvd.allreduce(torch.ones(1), process_set=even), "DDL-4-85")
    if only.included():
        assert hvd.allreduce(torch.tensor(5.0), process_set=only) == 5
    checks.raises(ValueError, lambda: hvd.add_process_set(range(0, size, 2)), "DDL-4-89")
    hvd.barrier()
    assert hvd.remove_process_set(even) and not hvd.remove_process_set(hvd.global_process_set)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_join():
    for first in range(min(size, 2)):
        if rank == first:
            last = hvd.join()
        else:
            for _ in range(2):
                sums = hvd.allreduce(torch.full((3,), 2.0), name="uneven", op=hvd.Sum)
                assert torch.equal(sums, torch.full((3,), 2.0 * (size - 1)))
                average = hvd.allreduce(torch.full((3,), 2.0), name="average")
                assert torch.allclose(average, torch.full((3,), 2.0 * (size - 1) / size))
            if size == 3:  # the others stay together until here
                assert hvd.allgather(torch.tensor([rank]), name="rows").tolist() == [r for r in range(size) if r != first]
            last = hvd.join()
        assert last in range(size) and (size == 1 or last != first)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_broadcast_with_a_joined_rank_is_refused():
    if size == 1:
        return
    if rank > 0:
        error = lambda: hvd.broadcast(torch.ones(2), 1, name="alone")  # noqa: E731
        checks.raises(hvd.HorovodInternalError, error, "joined")
    hvd.join()


def check_adasum():
    same = torch.tensor([3.0, 4.0])
    assert torch.allclose(hvd.allreduce(same, op=hvd.Adasum), same)
    apart = torch.zeros(size)
    apart[rank] = 1
    assert torch.allclose(hvd.allreduce(apart, op=hvd.Adasum), torch.ones(size))


def check_timeline():
    file = os.path.join(tempfile.gettempdir(), f"timeline.{os.environ['TUTTI_JOB']}.json")
    hvd.start_timeline(file, mark_cycles=True)
    for _ in range(2):
        hvd.allreduce(torch.ones(100), name="watched")
    hvd.stop_timeline()
    if rank == 0:
        with open(file) as stream:
            events = json.load(stream)["traceEvents"]
        os.remove(file)
        assert {event["pid"] for event in events} == set(range(size))
        assert any(event["name"] == "allreduce.watched" for event in events)
        assert any(event["name"].startswith("all_reduce of 100 f32") for event in events)


def check_dropped_handles_do_no_harm():
    for i in range(50):
        hvd.allreduce_async(torch.ones(10000), name=f"dropped.{i}")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_begin_again_after_shutdown():
    hvd.shutdown()
    assert not hvd.is_initialized()
    alone = hvd.ProcessSet([0])
    hvd.init(process_sets=[alone] if size > 1 else [])
    assert size == 1 or alone.included() == (rank == 0)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


checks.run(sys.modules[__name__])
