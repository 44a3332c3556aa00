"""All-reduce of tutti.horovod.torch, and properties of all collectives, checked on every rank."""

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
    for dtype, dim in itertools.product(INTEGERS + FLOATS, (1, 2, 3)):
        torch.manual_seed(5)
        whole = torch.randint(0 if dtype == torch.uint8 else -4, 5, [size] + [7] * dim)
        for op, wanted in ((hvd.Min, whole.amin(0)), (hvd.Max, whole.amax(0)), (hvd.Product, whole.prod(0))):
            assert torch.equal(hvd.allreduce(whole[rank].to(dtype), op=op), wanted.to(dtype)), (dtype, op)


def check_scales():
    for dtype, dim in itertools.product([torch.int32, torch.int64, *FLOATS], (1, 2, 3)):
        torch.manual_seed(6)
        tensor = torch.randint(-100, 100, [7] * dim).to(dtype)
        # Values are scaled in double precision, float16 in single precision; integers are truncated.
        wide = tensor.float() if dtype in FLOATS[:2] else tensor if dtype in FLOATS else tensor.double()
        before = hvd.allreduce(tensor, op=hvd.Sum, prescale_factor=0.3)
        after = hvd.allreduce(tensor, op=hvd.Sum, postscale_factor=0.3)
        assert before.dtype == after.dtype == dtype
        assert torch.allclose(before.double(), (wide * 0.3).to(dtype).double() * size, rtol=1e-2 if dtype in FLOATS[:2] else 1e-5)
        assert torch.allclose(after.double(), (wide * size * 0.3).to(dtype).double(), rtol=1e-2 if dtype in FLOATS[:2] else 1e-5)
    both = hvd.allreduce(torch.ones(5), op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0)
    assert torch.allclose(both, torch.full((5,), 1.5 * size))


def check_averages_of_whole_numbers_are_cut():
    for dtype in INTEGERS[1:]:
        mine = torch.tensor([rank, -rank, -7, 7 * (rank > 0)]).to(dtype)
        sums = torch.tensor([size * (size - 1) // 2, -size * (size - 1) // 2, -7 * size, 7 * (size - 1)])
        assert torch.equal(hvd.allreduce(mine), sums.div(size, rounding_mode="trunc").to(dtype))


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
    for dtype in INTEGERS:  # integers are not compressed
        packed, ctx = hvd.Compression.fp16.compress(torch.ones(3, dtype=dtype))
        assert packed.dtype == hvd.Compression.fp16.decompress(packed, ctx).dtype == dtype


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


def check_disagreements():
    if size == 1:
        return
    odd = rank == size - 1
    shapes = lambda: hvd.allreduce(torch.ones(17, 6) if odd else torch.ones(17, 2, 3), name="shapes")  # noqa: E731
    checks.raises(hvd.HorovodInternalError, shapes, "DDL-4-71", "shapes", "17x6", "17x2x3")
    lengths = lambda: hvd.allreduce(torch.ones(17 + rank))  # noqa: E731
    checks.raises(hvd.HorovodInternalError, lengths, "DDL-4-71")
    types = lambda: hvd.allreduce(torch.ones(4, dtype=torch.float64 if odd else torch.float32), name="types")  # noqa: E731
    checks.raises(hvd.HorovodInternalError, types, "f64", "f32")
    kinds = lambda: hvd.allreduce(torch.ones(4), name="ops", op=hvd.Sum if odd else hvd.Average)  # noqa: E731
    checks.raises(hvd.HorovodInternalError, kinds, "sum", "average")
    assert issubclass(hvd.HorovodInternalError, RuntimeError)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_one_name_for_different_calls():
    calls = {
        "all_reduce of": hvd.allreduce,
        "all_gather of": hvd.allgather,
        "broadcast of": lambda t, name: hvd.broadcast(t, 0, name=name),
        "reduce_scatter of": hvd.reducescatter,
        "all_to_all of": hvd.alltoall,
    }
    for (mine, one), (theirs, other) in itertools.permutations(calls.items(), 2):
        if size > 1:
            call = one if rank == 0 else other
            for name in ("shared", None):
                checks.raises(hvd.HorovodInternalError, lambda: call(torch.ones(size), name=name), "DDL-4-71", mine, theirs)
    # Different operations may use a name consecutively, even before the first one has completed.
    handles = [
        hvd.allreduce_async(torch.ones(2), name="shared", op=hvd.Sum),
        hvd.allgather_async(torch.full((1,), rank), name="shared"),
        hvd.broadcast_async(torch.full((1,), rank), size - 1, name="shared"),
    ]
    total, whole, last = (hvd.synchronize(handle) for handle in handles)
    assert total.tolist() == [size] * 2 and whole.tolist() == list(range(size)) and last.item() == size - 1


def check_names_are_used_once_at_a_time():
    if size == 1:
        return
    calls = [
        hvd.allreduce_async,
        hvd.allgather_async,
        hvd.reducescatter_async,
        hvd.alltoall_async,
        lambda tensor, name: hvd.broadcast_async(tensor, 0, name=name),
    ]
    for call in calls:
        tensor = torch.ones(size)
        if rank == 0:
            first = call(tensor, name="twice")
            checks.raises(ValueError, lambda: call(tensor, name="twice"), "DDL-4-75", "twice")  # noqa: B023
            assert not hvd.poll(first)  # no other rank has called it
            hvd.barrier()
        else:
            hvd.barrier()
            first = call(tensor, name="twice")
        assert (hvd.synchronize(first) == 1).all() and hvd.poll(first)


def check_join():
    for first, dtype in itertools.product(range(size), (torch.int32, torch.int64, torch.float32, torch.float64)):
        torch.manual_seed(7)
        a, b = (torch.randint(-100, 100, [n] * 3).to(dtype) for n in (3, 5))

        def averages():
            handles = [hvd.allreduce_async(a, name="join.a"), hvd.allreduce_async(b, name="join.b")]  # noqa: B023
            return [hvd.synchronize(handle) for handle in handles]

        averages()  # cached from here on
        if rank != first:
            for got, tensor in zip(averages(), (a, b)):
                whole = tensor * (size - 1)
                wanted = whole / size if dtype.is_floating_point else whole.div(size, rounding_mode="trunc")
                assert torch.allclose(got, wanted)
            sums = hvd.allreduce(torch.full((3,), 2.0), name="uneven", op=hvd.Sum)
            assert torch.equal(sums, torch.full((3,), 2.0 * (size - 1)))
            if size == 3:  # the other ranks run together until here
                assert hvd.allgather(torch.tensor([rank]), name="rows").tolist() == [r for r in range(size) if r != first]
        last = hvd.join(hvd.local_rank())
        assert hvd.allgather_object(last) == [last] * size and (size == 1 or last != first)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_broadcast_with_a_joined_rank_is_refused():
    if size == 1:
        return
    if rank > 0:
        error = lambda: hvd.broadcast(torch.ones(2), 1, name="alone")  # noqa: E731
        checks.raises(hvd.HorovodInternalError, error, "joined")
    hvd.join()


def check_adasum():
    apart = torch.zeros(size)
    apart[rank] = 1
    assert torch.allclose(hvd.allreduce(apart, op=hvd.Adasum), torch.ones(size))
    for dtype in FLOATS:
        limits, tolerance = torch.finfo(dtype), 4 * torch.finfo(dtype).eps
        same = torch.tensor([3.0, 4.0], dtype=dtype)
        assert torch.allclose(hvd.allreduce(same, op=hvd.Adasum), same, rtol=tolerance)
        if size > 2:
            continue  # the result for parallel vectors is their mean only for two ranks
        torch.manual_seed(8)
        direction = torch.randn(1024, dtype=torch.float64)
        # Products of these values exceed the range of the type; float64 has no wider type.
        tiny, huge = (1.0, 1.0) if dtype == torch.float64 else (float(limits.tiny) * 64, float(limits.max) ** 0.5)
        for lengths in ([1.0, 3.0], [tiny, -3 * tiny], [tiny, huge], [huge, huge / 2]):
            vectors = [(direction * length).to(dtype) for length in lengths[:size]]
            handle = hvd.allreduce_async(vectors[rank], op=hvd.Adasum)
            mean = sum(vector.double() for vector in vectors) / size
            error = (hvd.synchronize(handle).double() - mean).norm() / mean.norm()
            assert error < 100 * limits.eps, (dtype, lengths, error)


def check_barrier_among_others():
    handles = [hvd.broadcast_async(torch.eye(3), 0), hvd.allgather_async(torch.eye(5)), hvd.allgather_async(torch.zeros(5, 5))]
    reduced = hvd.allreduce_async(torch.eye(5))
    hvd.barrier()
    assert torch.equal(hvd.synchronize(reduced), torch.eye(5)) and len(handles) == 3


def check_timeline():
    for round_ in range(2):  # a second timeline gets a separate file
        file = os.path.join(tempfile.gettempdir(), f"timeline.{os.environ['TUTTI_JOB']}.{round_}.json")
        hvd.start_timeline(file, mark_cycles=True)
        for _ in range(2):
            hvd.allreduce(torch.ones(100), name="watched")
        hvd.stop_timeline()
        if rank == 0:
            with open(file) as stream:
                events = json.load(stream)["traceEvents"]
            os.remove(file)
            assert {event["pid"] for event in events} == set(range(size))
            assert any(event["name"] == "watched" for event in events)
            assert any(event["name"].startswith("all_reduce of 100 f32") for event in events)


def check_not_contiguous():
    gaps = torch.arange(12.0).view(3, 4).t()
    assert torch.equal(hvd.allreduce(gaps, op=hvd.Sum), gaps * size)
    checks.raises(ValueError, lambda: hvd.allreduce_(gaps), "contiguous")


def check_dropped_handles_do_no_harm():
    for i in range(50):
        hvd.allreduce_async(torch.ones(10000), name=f"dropped.{i}")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_begin_again_after_shutdown():
    hvd.shutdown()
    assert not hvd.is_initialized()
    hvd.init()
    assert (hvd.rank(), hvd.size()) == (rank, size)
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_variables_of_horovod():
    hvd.shutdown()
    given = {
        "HOROVOD_TIMELINE": "DYNAMIC",
        "HOROVOD_FUSION_THRESHOLD": "0",
        "HOROVOD_CYCLE_TIME": "0.5",
        "HOROVOD_STALL_CHECK_TIME_SECONDS": "2",
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "77",
    }
    wanted = {"TUTTI_BUCKET_BYTES": "1", "TUTTI_CYCLE_MS": "0.5", "DDL_STALL_SECONDS": "2", "DDL_TIMEOUT": "77"}
    before = dict(os.environ)
    for name in wanted:
        os.environ.pop(name, None)
    os.environ.update(given)
    hvd.init()
    assert {name: os.environ.get(name) for name in wanted} == wanted and "TUTTI_TIMELINE" not in os.environ
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size
    hvd.shutdown()
    os.environ.clear()
    os.environ.update(before)
    hvd.init()


checks.run(sys.modules[__name__])
