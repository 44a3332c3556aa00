"""Every collective and dtype of c10d on 1 to 4 ranks, compared with Gloo, or with the definition where Gloo lacks it."""

import itertools
import warnings

import pytest
import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

import ranks
from tutti.torch import compat

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
TYPES = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX]
OPERATIONS = ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"]
SHAPES = [(), (1,), (0,), (5, 7), (2, 3000)]
SIZES = [1, 2, 3, 4]


def values(rank, shape, dtype, index=0):
    """Returns the values of `rank`, the same on every rank that calls it; small, so sums and products are exact."""
    count = int(torch.tensor(shape).prod()) if shape else 1
    numbers = (torch.arange(count) * 5 + rank * 3 + index * 7) % 4
    if dtype.is_complex:
        return torch.complex(numbers.double(), (numbers * (rank + 1) % 3).double()).to(dtype).reshape(shape)
    return numbers.to(dtype).reshape(shape)


def is_defined(operation, dtype):
    if dtype.is_complex:
        return operation in ("SUM", "AVG")
    if operation in ("BAND", "BOR", "BXOR"):
        return not dtype.is_floating_point
    return not (dtype == torch.bool and operation == "AVG")


def reduced(operation, tensors):
    """Returns the reduction of the tensors by its definition."""
    functions = {
        "SUM": torch.add, "AVG": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
        "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor,
    }  # fmt: skip
    dtype = tensors[0].dtype
    wide = torch.float64 if dtype in FLOATS else dtype
    result = tensors[0].to(wide)
    for tensor in tensors[1:]:
        result = functions[operation](result, tensor.to(wide))
    if operation == "AVG":
        result = result / len(tensors) if wide.is_complex or wide.is_floating_point else torch.div(
            result, len(tensors), rounding_mode="trunc")
    return result.to(dtype)


class Checker:
    """Runs a collective on the group `ddl` and compares the result with Gloo or with the definition."""

    def __init__(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.gloo = dist.new_group(backend="gloo")
        self.compared_with_gloo = self.cases = 0
        self.errors = []

    def check(self, name, collective, expected, gloo=True):
        """`collective(group)` returns the tensors it modified; `expected`: their values. `gloo`: compare with Gloo too."""
        self.cases += 1
        try:
            mine = collective(None)
        except Exception as error:  # noqa: BLE001: reported with the name of the case
            self.errors.append(f"{name}: {error}")
            return
        try:
            theirs = collective(self.gloo) if gloo else expected
            self.compared_with_gloo += gloo
        except RuntimeError:  # not supported by Gloo, which raises before it communicates
            theirs = expected
        for wanted in (expected, theirs):
            for got, want in zip(mine, wanted, strict=True):
                if not same(got, want):
                    self.errors.append(f"{name}: got {got.flatten()[:6]}, want {want.flatten()[:6]}")
                    return


def same(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype == torch.bool:
        return torch.equal(got.view(torch.uint8) != 0, want.view(torch.uint8) != 0)
    if got.dtype in FLOATS or got.dtype.is_complex:
        got, want = got.to(torch.complex128), want.to(torch.complex128)
        return torch.allclose(got, want, rtol=1e-2 if got.dtype in FLOATS[:2] else 1e-6, equal_nan=True)
    return torch.equal(got, want)


def values_of_all(size, shape, dtype, index=0):
    return [values(rank, shape, dtype, index) for rank in range(size)]


def check_reductions(c):
    for dtype, operation in itertools.product(TYPES, OPERATIONS):
        if not is_defined(operation, dtype):
            continue
        op = getattr(ReduceOp, operation)
        for shape in SHAPES if operation == "SUM" else SHAPES[-2:-1]:
            all_values = values_of_all(c.size, shape, dtype)
            total = reduced(operation, all_values)
            name = f"{operation} {dtype} {shape}"

            def all_reduce(group):
                tensor = values(c.rank, shape, dtype)
                dist.all_reduce(tensor, op, group=group)
                return [tensor]

            def reduce(group):
                tensor = values(c.rank, shape, dtype)
                dist.reduce(tensor, c.size - 1, op, group=group)
                return [tensor] if c.rank == c.size - 1 else []

            def reduce_scatter(group):
                inputs = [values(c.rank, shape, dtype, index) for index in range(c.size)]
                output = torch.empty(shape, dtype=dtype)
                dist.reduce_scatter(output, inputs, op, group=group)
                return [output]

            c.check(f"all_reduce {name}", all_reduce, [total])
            c.check(f"reduce {name}", reduce, [total] if c.rank == c.size - 1 else [])
            c.check(f"reduce_scatter {name}", reduce_scatter, [reduced(operation, values_of_all(c.size, shape, dtype, c.rank))])


def check_data_movement(c):
    for dtype, shape in itertools.product(TYPES, SHAPES):
        name = f"{dtype} {shape}"
        all_values = values_of_all(c.size, shape, dtype)
        root = c.size // 2
        gloo = shape != (0,)  # Gloo divides by the size of an empty tensor and crashes

        def broadcast(group):
            tensor = values(c.rank, shape, dtype)
            dist.broadcast(tensor, root, group=group)
            return [tensor]

        def all_gather(group):
            outputs = [torch.zeros(shape, dtype=dtype) for _ in range(c.size)]
            dist.all_gather(outputs, values(c.rank, shape, dtype), group=group)
            return outputs

        def gather(group):
            outputs = [torch.zeros(shape, dtype=dtype) for _ in range(c.size)] if c.rank == root else None
            dist.gather(values(c.rank, shape, dtype), outputs, root, group=group)
            return outputs or []

        def scatter(group):
            output = torch.zeros(shape, dtype=dtype)
            inputs = [values(root, shape, dtype, index) for index in range(c.size)] if c.rank == root else None
            dist.scatter(output, inputs, root, group=group)
            return [output]

        def all_to_all(group):
            outputs = [torch.zeros(shape, dtype=dtype) for _ in range(c.size)]
            dist.all_to_all(outputs, [values(c.rank, shape, dtype, index) for index in range(c.size)], group=group)
            return outputs

        c.check(f"broadcast {name}", broadcast, [all_values[root]], gloo)
        c.check(f"all_gather {name}", all_gather, all_values, gloo)
        c.check(f"gather {name}", gather, all_values if c.rank == root else [], gloo)
        c.check(f"scatter {name}", scatter, [values(root, shape, dtype, c.rank)], gloo)
        c.check(f"all_to_all {name}", all_to_all, values_of_all(c.size, shape, dtype, c.rank), gloo)


def check_whole_tensors(c):
    """Variants that take one tensor instead of a list."""
    for dtype in TYPES:
        shape = (3, 4)
        joined = torch.cat(values_of_all(c.size, shape, dtype))

        def all_gather_base(group):
            output = torch.zeros(c.size * 3, 4, dtype=dtype)
            dist._all_gather_base(output, values(c.rank, shape, dtype), group=group)
            return [output]

        def reduce_scatter_base(group):
            output = torch.zeros(shape, dtype=dtype)
            op = ReduceOp.SUM if dtype != torch.bool else ReduceOp.MAX
            dist._reduce_scatter_base(output, values(c.rank, (c.size * 3, 4), dtype), op, group=group)
            return [output]

        def all_to_all_single(group):
            output = torch.zeros(c.size * 3, 4, dtype=dtype)
            dist.all_to_all_single(output, values(c.rank, (c.size * 3, 4), dtype), group=group)
            return [output]

        def uneven(group):
            """All-to-all in which rank r sends r + p rows to rank p."""
            sends = [c.rank + peer for peer in range(c.size)]
            output = torch.zeros(sum(sends), 2, dtype=dtype)
            dist.all_to_all_single(output, values(c.rank, (sum(sends), 2), dtype), sends, sends, group=group)
            return [output]

        whole = [values(rank, (c.size * 3, 4), dtype) for rank in range(c.size)]
        total = reduced("SUM" if dtype != torch.bool else "MAX", whole)
        mine = slice(c.rank * 3, c.rank * 3 + 3)
        c.check(f"_all_gather_base {dtype}", all_gather_base, [joined])
        c.check(f"_reduce_scatter_base {dtype}", reduce_scatter_base, [total[mine]])
        c.check(f"all_to_all_single {dtype}", all_to_all_single, [torch.cat([tensor[mine] for tensor in whole])])
        parts = []
        for rank in range(c.size):
            sends = [rank + peer for peer in range(c.size)]
            begin = sum(sends[: c.rank])
            parts.append(values(rank, (sum(sends), 2), dtype)[begin : begin + rank + c.rank])
        c.check(f"all_to_all_single uneven {dtype}", uneven, [torch.cat(parts)])


def check_coalesced(c):
    shapes = [(3,), (2, 5), (0,), (1,)]

    def all_reduce(group):
        tensors = [values(c.rank, shape, torch.float32, index) for index, shape in enumerate(shapes)]
        dist.all_reduce_coalesced(tensors, group=group)
        return tensors

    def all_gather(group):
        inputs = [values(c.rank, shape, torch.float32, index) for index, shape in enumerate(shapes)]
        outputs = [[torch.zeros_like(tensor) for tensor in inputs] for _ in range(c.size)]
        dist.all_gather_coalesced(outputs, inputs, group=group)
        return [tensor for row in outputs for tensor in row]

    sums = [reduced("SUM", values_of_all(c.size, shape, torch.float32, index)) for index, shape in enumerate(shapes)]
    gathered = [
        values(rank, shape, torch.float32, index) for rank in range(c.size) for index, shape in enumerate(shapes)
    ]
    c.check("all_reduce_coalesced", all_reduce, sums)
    c.check("all_gather_coalesced", all_gather, gathered)


def check_in_place_all_gather(c):
    """The input is this rank's part of the output, as FSDP calls it."""
    for count in (1, 7, 1 << 18):
        for make in (torch.zeros, ranks.tutti.torch.empty):

            def all_gather(group):
                output = make(c.size * count).zero_()
                mine = output[c.rank * count : (c.rank + 1) * count]
                mine.copy_(values(c.rank, (count,), torch.float32))
                dist._all_gather_base(output, mine, group=group)
                return [output]

            c.check(f"all_gather in place, {count}", all_gather, [torch.cat(values_of_all(c.size, (count,), torch.float32))])


def check_premultiplied_sums(c):
    factor = lambda rank: 0.5 * (rank + 1)
    for dtype in FLOATS:
        for number in (factor(c.rank), torch.tensor([factor(c.rank)], dtype=dtype)):
            op = premultiplied_sum(number)
            products = [tensor * factor(rank) for rank, tensor in enumerate(values_of_all(c.size, (5, 7), dtype))]

            def all_reduce(group):
                tensor = values(c.rank, (5, 7), dtype)
                dist.all_reduce(tensor, op, group=group)
                return [tensor]

            def reduce(group):
                tensor = values(c.rank, (5, 7), dtype)
                dist.reduce(tensor, 0, op, group=group)
                return [tensor]

            def reduce_scatter(group):
                inputs = [values(c.rank, (5, 7), dtype, index) for index in range(c.size)]
                output = torch.empty(5, 7, dtype=dtype)
                dist.reduce_scatter(output, inputs, op, group=group)
                return [output, *inputs]  # inputs must not change

            total = reduced("SUM", products)
            mine = [values(c.rank, (5, 7), dtype, index) for index in range(c.size)]
            parts = [tensor * factor(rank) for rank, tensor in enumerate(values_of_all(c.size, (5, 7), dtype, c.rank))]
            c.check(f"all_reduce PREMUL_SUM {dtype}", all_reduce, [total], gloo=False)
            c.check(f"reduce PREMUL_SUM {dtype}", reduce, [mine[0] if c.rank else total], gloo=False)
            c.check(f"reduce_scatter PREMUL_SUM {dtype}", reduce_scatter, [reduced("SUM", parts), *mine], gloo=False)


def premultiplied_sum(factor):
    """Returns the ReduceOp for a number or a tensor of one element; torch 1.13 expects a list of tensors."""
    is_list = compat.VERSION < (2, 0) and isinstance(factor, torch.Tensor)
    return torch._C._distributed_c10d._make_nccl_premul_sum([factor] if is_list else factor)


def check_layouts(c):
    """Tensors that are not contiguous, require gradients, or are in library-allocated memory."""
    all_values = values_of_all(c.size, (6, 8), torch.float32)

    def views(tensor):
        yield "transposed", tensor.t()
        yield "strided", tensor[::2, 1::3]
        yield "channels_last", tensor.view(1, 2, 3, 8).contiguous(memory_format=torch.channels_last)
        yield "leaf", tensor.clone().requires_grad_()
        yield "shared", ranks.tutti.torch.empty(6, 8).copy_(tensor)

    for index, (name, _) in enumerate(views(all_values[0])):
        mine = lambda: list(views(values(c.rank, (6, 8), torch.float32)))[index][1]
        theirs = [list(views(tensor))[index][1].detach() for tensor in all_values]

        def all_reduce(group):
            tensor = mine()
            dist.all_reduce(tensor, group=group)
            return [tensor.detach()]

        def broadcast(group):
            tensor = mine()
            dist.broadcast(tensor, 0, group=group)
            return [tensor.detach()]

        def all_gather(group):
            outputs = [torch.zeros(tensor.t().shape).t() if tensor.dim() == 2 else torch.zeros(tensor.shape) for tensor in theirs]
            dist.all_gather(outputs, mine(), group=group)
            return outputs

        def all_gather_views(group):
            outputs = torch.zeros(c.size, *theirs[0].shape)
            dist.all_gather(list(outputs.unbind(0)), mine(), group=group)
            return list(outputs.unbind(0))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for collective, expected in ((all_reduce, [reduced("SUM", theirs)]), (broadcast, [theirs[0]]),
                                         (all_gather, theirs), (all_gather_views, theirs)):
                # Gloo reduces the memory of strided tensors as if it were contiguous.
                c.check(f"{collective.__name__} {name}", collective, expected, gloo=name not in ("strided", "transposed"))


def check_sparse(c):
    for dtype in (torch.float32, torch.int64, torch.float64):
        def of(rank):
            index = torch.tensor([[rank % 3, 2, 2], [0, rank, rank]])
            return torch.sparse_coo_tensor(index, torch.tensor([[1.5, 2], [3, rank], [4, 5]]).to(dtype), (3, 5, 2))

        def all_reduce(group):
            tensor = of(c.rank)
            dist.all_reduce(tensor, group=group)
            return [tensor.to_dense()]

        c.check(f"sparse {dtype}", all_reduce, [sum(of(rank).to_dense() for rank in range(c.size))])
    empty = torch.sparse_coo_tensor(torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0), (4,))
    dist.all_reduce(empty)
    assert empty.to_dense().tolist() == [0] * 4


def check_point_to_point(c):
    after, before = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    if c.size == 1:
        return
    for dtype in TYPES:
        def ring(group):
            tensor = torch.zeros(3, 4, dtype=dtype).t() if group is None else torch.zeros(4, 3, dtype=dtype)
            pending = dist.isend(values(c.rank, (4, 3), dtype), after, group=group, tag=777)
            dist.recv(tensor, before, group=group, tag=777)
            pending.wait()
            return [tensor]

        c.check(f"ring {dtype}", ring, [values(before, (4, 3), dtype)])
    # Receive from any source: the order of arrival is not known.
    if c.rank:
        dist.send(values(c.rank, (9,), torch.float32), 0)
    else:
        tensor = torch.zeros(9)
        senders = []
        for _ in range(1, c.size):
            senders.append(dist.recv(tensor))
            assert torch.equal(tensor, values(senders[-1], (9,), torch.float32))
        assert sorted(senders) == list(range(1, c.size))
    # Out of order, by tags.
    if c.rank == 0:
        dist.send(torch.tensor([1.0]), 1, tag=1)
        dist.send(torch.tensor([2.0]), 1, tag=2)
    elif c.rank == 1:
        first, second = torch.zeros(1), torch.zeros(1)
        dist.recv(second, 0, tag=2)
        dist.recv(first, 0, tag=1)
        assert (first.item(), second.item()) == (1, 2)


def check_asynchronous(c):
    """Works and futures: any number in flight, together with messages that depend on each other."""
    tensors = [torch.full((count,), float(c.rank)) for count in (1, 1000, 300000, 0, 7)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    barrier = dist.barrier(async_op=True)
    for work in reversed(works):
        work.wait()
    barrier.wait()
    total = float(sum(range(c.size)))
    assert all((tensor == total).all() for tensor in tensors)
    assert all(work.is_completed() for work in works)
    future = dist.all_reduce(tensors[1], async_op=True).get_future()
    halved = future.then(lambda done: done.value()[0] / 2)
    assert halved.wait()[0].item() == total * c.size / 2
    assert works[0].get_future().wait()[0].item() == total
    # A collective that depends on a message sent after it was started.
    if c.size > 1:
        tensor = torch.ones(1)
        if c.rank == 0:
            work = dist.all_reduce(tensor, async_op=True)
            dist.send(torch.ones(1), 1)
            work.wait()
        else:
            if c.rank == 1:
                dist.recv(torch.zeros(1), 0)
            dist.all_reduce(tensor)
        assert tensor.item() == c.size


def check_groups(c):
    """Subgroups of any number and shape, used concurrently with each other and the default group."""
    groups = [
        dist.new_group(list(members))
        for count in range(1, c.size + 1)
        for members in itertools.combinations(range(c.size), count)
    ]
    works = []
    for group in groups:
        if group == dist.GroupMember.NON_GROUP_MEMBER:
            continue
        tensor = torch.full((5000,), float(dist.get_rank(group)))
        works.append((dist.all_reduce(tensor, group=group, async_op=True), tensor, dist.get_world_size(group)))
    for work, tensor, size in works:
        work.wait()
        assert (tensor == sum(range(size))).all()
    for group in groups:
        if group != dist.GroupMember.NON_GROUP_MEMBER:
            dist.destroy_process_group(group)
    objects = [None] * c.size
    dist.all_gather_object(objects, {"rank": c.rank, "text": "x" * c.rank})
    assert [o["rank"] for o in objects] == list(range(c.size))


def run_all_checks():
    c = Checker()
    for check in (check_reductions, check_data_movement, check_whole_tensors, check_coalesced, check_in_place_all_gather,
                  check_premultiplied_sums, check_layouts, check_sparse,
                  check_point_to_point, check_asynchronous, check_groups):
        check(c)
    dist.destroy_process_group(c.gloo)
    return c.cases, c.compared_with_gloo, c.errors


@pytest.mark.parametrize("size", SIZES)
def test_all_collectives(size):
    for cases, compared_with_gloo, errors in ranks.run(size, run_all_checks):
        assert not errors, f"{len(errors)} of {cases}: " + "\n".join(errors[:20])
        assert cases > 400 and compared_with_gloo > cases / 3  # most cases were compared with Gloo


def rejected_calls():
    messages = []
    for rejected in (
        lambda: dist.all_reduce(torch.ones(3), ReduceOp.BAND),
        lambda: dist.all_reduce(torch.ones(3, dtype=torch.complex64).view(torch.complex64), ReduceOp.MAX),
        lambda: dist.all_reduce(torch.ones(3, dtype=torch.bool), ReduceOp.AVG),
        lambda: dist.all_gather([torch.ones(2)], torch.ones(2)),
        lambda: dist.all_gather([torch.ones(2), torch.ones(3)], torch.ones(2)),
        lambda: dist.all_to_all_single(torch.ones(3), torch.ones(3)),
        lambda: dist.all_reduce(torch.ones(3, device="meta")),
    ):
        try:
            rejected()
            messages.append("")
        except Exception as error:  # noqa: BLE001
            messages.append(str(error))
    tensor = torch.ones(1)
    dist.all_reduce(tensor)  # the group still works
    return messages, tensor.item()


def test_invalid_calls_are_rejected_before_sending():
    for messages, total in ranks.run(2, rejected_calls):
        assert total == 2
        for text, expected in zip(messages, ["BAND", "", "AVG", "one per rank", "alike", "divide", ""], strict=True):
            assert text and expected in text, messages
