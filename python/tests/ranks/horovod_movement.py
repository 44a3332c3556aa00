"""All-gather, broadcast, all-to-all, reduce-scatter and objects of tutti.horovod.torch, checked on every rank."""

import itertools
import sys

import checks
import torch

import tutti.horovod.torch as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
REDUCED = [torch.int32, torch.int64, *FLOATS]


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


def check_many_gathers_at_once():
    tensors = [torch.full([rank + 1] + [3] * dim, rank).to(dtype) for dtype, dim in itertools.product(INTEGERS + FLOATS, range(3))]
    handles = [hvd.allgather_async(tensor) for tensor in tensors]
    for handle, tensor in zip(handles, tensors):
        parts = hvd.synchronize(handle).split([r + 1 for r in range(size)])
        assert all((part == r).all() and part.shape[1:] == tensor.shape[1:] for r, part in enumerate(parts))


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
    for dtype, dim in itertools.product(INTEGERS + FLOATS, range(3)):
        tensor = torch.cat([torch.full([rank + 1] + [2] * dim, r) for r in range(size)]).to(dtype)
        got = hvd.alltoall(tensor)
        assert got.dtype == dtype and (got == rank).all() and got.shape == (size * (size + 1) // 2, *[2] * dim)
    if size > 1:
        checks.raises(ValueError, lambda: hvd.alltoall(torch.ones(2 * size + 1)), "DDL-4-92")
    checks.raises(ValueError, lambda: hvd.alltoall(torch.ones(3), [1] * (size + 1)), "DDL-4-01")
    checks.raises(ValueError, lambda: hvd.alltoall(torch.ones(size - 1), torch.ones(size, dtype=torch.int32)), "DDL-4-01")
    checks.raises(ValueError, lambda: hvd.alltoall(torch.ones(size), torch.ones(size)), "DDL-4-92", "integers")


def check_reducescatter():
    for dtype, dim in itertools.product(REDUCED, (1, 2, 3)):
        torch.manual_seed(9)
        whole = torch.randint(-100, 100, [4 * size] + [3] * (dim - 1)).to(dtype)
        mine = whole[4 * rank : 4 * rank + 4]
        assert torch.equal(hvd.reducescatter(whole, op=hvd.Sum), mine * size)
        assert torch.allclose(hvd.reducescatter(whole).double(), mine.double())
        for got in hvd.grouped_reducescatter([whole, whole], op=hvd.Sum):
            assert torch.equal(got, mine * size)
        wide = mine.double() if dtype in REDUCED[:2] else mine.float() if dtype in FLOATS[:2] else mine
        tolerance = 1e-2 if dtype in FLOATS[:2] else 1e-5
        for call in (hvd.reducescatter, lambda tensor, **options: hvd.grouped_reducescatter([tensor], **options)[0]):
            before = call(whole, op=hvd.Sum, prescale_factor=0.3)
            assert torch.allclose(before.double(), (wide * 0.3).to(dtype).double() * size, rtol=tolerance)
            after = call(whole, op=hvd.Sum, postscale_factor=0.3)
            assert torch.allclose(after.double(), (wide * size * 0.3).to(dtype).double(), rtol=tolerance)


def check_reducescatter_of_odd_shapes():
    tensor = torch.arange(size * 2 + 1, dtype=torch.float32).view(-1, 1).repeat(1, 3)
    part = hvd.reducescatter(tensor, op=hvd.Sum)
    rows = [2 + (1 if r == 0 else 0) for r in range(size)]
    assert torch.equal(part, tensor[sum(rows[:rank]) : sum(rows[: rank + 1])] * size)
    types = [torch.float32, torch.int64, torch.float32]
    for got, dtype in zip(hvd.grouped_reducescatter([torch.ones(size, 2, dtype=dtype) for dtype in types], op=hvd.Sum), types):
        assert got.dtype == dtype and got.tolist() == [[size, size]]
    checks.raises(ValueError, lambda: hvd.reducescatter(torch.tensor(1.0)), "DDL-4-93")
    checks.raises(ValueError, lambda: hvd.grouped_reducescatter([torch.ones(3, 1), torch.tensor(1.0)]), "DDL-4-93")
    checks.raises(RuntimeError, lambda: hvd.reducescatter(torch.ones(size), op=hvd.Adasum), "DDL-4-93")


def check_many_reducescatters_at_once():
    tensors = [torch.full([4 * size] + [2] * dim, 3).to(dtype) for dtype, dim in itertools.product(REDUCED, range(3))]
    handles = [hvd.reducescatter_async(tensor, op=hvd.Sum) for tensor in tensors]
    for handle, tensor in zip(handles, tensors):
        assert torch.equal(hvd.synchronize(handle), tensor[:4] * size)


def check_gradients_of_shares():
    for dtype, op in itertools.product((torch.float16, torch.float32, torch.float64), (hvd.Sum, hvd.Average)):
        whole = torch.ones(size * 4, 2, dtype=dtype, requires_grad=True)
        hvd.reducescatter(whole, op=op).backward(torch.ones(4, 2, dtype=dtype))
        assert (whole.grad == (size if op is hvd.Sum else 1)).all()
    pair = [torch.ones(size * 4, requires_grad=True) for _ in range(2)]
    for part in hvd.grouped_reducescatter(pair, op=hvd.Sum):  # each separately: the first backward pass must not free state of the second
        part.backward(torch.ones(4))
    assert all((tensor.grad == size).all() for tensor in pair)
    rows = [torch.full((rank + 1, 2), float(rank), requires_grad=True) for _ in range(2)]
    outer = torch.cat([torch.full((r + 1, 2), float(r)) for r in range(size)])
    for whole in hvd.grouped_allgather(rows):
        whole.backward(outer)
    assert all((tensor.grad == rank).all() for tensor in rows)


def check_disagreements():
    if size == 1:
        return
    odd = rank == size - 1
    errors = hvd.HorovodInternalError
    kind = torch.float64 if odd else torch.float32
    for call in (hvd.allgather, hvd.alltoall, hvd.reducescatter, lambda tensor: hvd.broadcast(tensor, 0)):
        checks.raises(errors, lambda: call(torch.ones(2 * size, 2 + odd)), "DDL-4-71", f"rank {size - 1} has")  # noqa: B023
        checks.raises(errors, lambda: call(torch.ones(2 * size, dtype=kind)), "DDL-4-71", "f32", "f64")  # noqa: B023
    checks.raises(errors, lambda: hvd.broadcast(torch.ones(4), int(odd), name="roots"), "from rank 0", "from rank 1")
    assert hvd.allreduce(torch.ones(1), op=hvd.Sum) == size


def check_objects():
    thing = {"rank": rank, "list": list(range(rank * 1000))}
    assert hvd.broadcast_object(thing, size - 1)["rank"] == size - 1
    assert [len(other["list"]) for other in hvd.allgather_object(thing, name="things")] == [1000 * r for r in range(size)]
    assert hvd.broadcast_object(thing if rank == 0 else None) == {"rank": 0, "list": []}


checks.run(sys.modules[__name__])
