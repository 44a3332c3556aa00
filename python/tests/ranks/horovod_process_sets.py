"""Process sets of tutti.horovod.torch: every collective and its gradient on subsets of the ranks, checked on every rank."""

import contextlib
import sys

import checks
import ddl
import horovod_networks
import torch

import tutti.horovod.torch as hvd
from tutti import _comm

hvd.init()
rank, size = hvd.rank(), hvd.size()


@contextlib.contextmanager
def even_and_odd():
    """Yields the sets of the even and of the odd ranks; the global set if there is only one rank."""
    if size == 1:
        yield hvd.global_process_set, hvd.global_process_set
        return
    both = [hvd.add_process_set(range(first, size, 2)) for first in (0, 1)]
    yield both
    hvd.barrier()
    assert all(hvd.remove_process_set(one) for one in both)


@contextlib.contextmanager
def own_set():
    with even_and_odd() as both:
        yield both[rank % 2]


def check_what_a_set_knows():
    alone = hvd.ProcessSet([0])
    assert alone.included() is None and alone.rank() is None and alone.size() is None
    checks.raises(ValueError, lambda: hvd.allreduce(torch.ones(1), process_set=alone), "DDL-4-84")
    checks.raises(ValueError, lambda: hvd.ProcessSet([0.5]), "list of ranks")
    checks.raises(ValueError, lambda: hvd.ProcessSet(hvd), "list of ranks")
    checks.raises(ValueError, lambda: hvd.add_process_set(range(size)), "DDL-4-89")
    assert not hvd.remove_process_set(alone) and not hvd.remove_process_set(hvd.global_process_set)
    with even_and_odd() as both:
        own, other = both[rank % 2], both[1 - rank % 2]
        assert own.included() and (own.rank(), own.size()) == (rank // 2, len(range(rank % 2, size, 2)))
        if size > 1:
            assert not other.included() and other.rank() is None and other.size() == len(other.ranks)
            assert f"ranks={own.ranks}" in str(own) and own != other
            for call in (hvd.allreduce, hvd.allgather, hvd.alltoall, hvd.reducescatter):
                checks.raises(ValueError, lambda: call(torch.ones(size), process_set=other), "DDL-4-85")  # noqa: B023
            checks.raises(ValueError, lambda: hvd.broadcast(torch.ones(1), other.ranks[0], process_set=own), "DDL-4-91")
            checks.raises(ValueError, lambda: hvd.add_process_set(range(0, size, 2)), "DDL-4-89")
    assert size == 1 or own.included() is None


def check_reductions():
    with own_set() as own:
        n, me = own.size(), own.rank()
        for dtype in (torch.int32, torch.int64, torch.float16, torch.float32, torch.float64):
            rows = torch.arange(12 * n).view(2 * n, 2, 3).to(dtype) + rank % 2
            part = slice(2 * me, 2 * me + 2)
            assert torch.equal(hvd.allreduce(rows, op=hvd.Sum, process_set=own), rows * n)
            assert torch.equal(hvd.reducescatter(rows, op=hvd.Sum, process_set=own), rows[part] * n)
            for got in hvd.grouped_allreduce([rows, rows], op=hvd.Sum, process_set=own):
                assert torch.equal(got, rows * n)
            for got in hvd.grouped_reducescatter([rows, rows], process_set=own):
                assert torch.equal(got, rows[part])
        assert hvd.allreduce(torch.tensor(float(rank)), process_set=own) == sum(own.ranks) / n
        sparse = torch.tensor([[0.0, rank, 0.0], [1.0, 0.0, 0.0]]).to_sparse()
        sums = hvd.sparse_allreduce_async(sparse, "sparse", hvd.Sum, process_set=own)()
        assert sums.is_sparse and sums.to_dense().tolist() == [[0.0, sum(own.ranks), 0.0], [n, 0.0, 0.0]]


def check_movements():
    with own_set() as own:
        mine = torch.full((rank + 1, 2), float(rank))
        whole = torch.cat([torch.full((r + 1, 2), float(r)) for r in own.ranks])
        assert torch.equal(hvd.allgather(mine, process_set=own), whole)
        assert all(torch.equal(got, whole) for got in hvd.grouped_allgather([mine, mine], process_set=own))
        for root in own.ranks:
            tensor = torch.tensor([rank])
            assert hvd.broadcast(tensor, root, process_set=own).item() == root and tensor.item() == rank
            assert hvd.broadcast_(tensor, root, process_set=own).item() == root == tensor.item()
        parcels = torch.tensor([float(r) for r in own.ranks for _ in range(rank + 1)])
        got, received = hvd.alltoall(parcels, torch.tensor([rank + 1] * own.size()), process_set=own)
        assert received.tolist() == [r + 1 for r in own.ranks] and (got == rank).all() and len(got) == sum(received)
        assert hvd.broadcast_object({"rank": rank}, own.ranks[-1], process_set=own) == {"rank": own.ranks[-1]}
        assert hvd.allgather_object({"rank": rank}, process_set=own) == [{"rank": r} for r in own.ranks]
        parameters = {"w": torch.tensor([float(rank)])}
        hvd.broadcast_parameters(parameters, own.ranks[0], process_set=own)
        assert parameters["w"].item() == own.ranks[0]


def check_gradients():
    def gradient_of(call, shape, outer=None):
        tensor = torch.ones(shape, requires_grad=True)
        results = call(tensor)
        for result in results if isinstance(results, list) else [results]:
            result.backward(torch.ones_like(result) if outer is None else outer)
        return tensor.grad

    with own_set() as own:
        n = own.size()
        ours = {"process_set": own}
        assert (gradient_of(lambda t: hvd.allreduce(t, op=hvd.Sum, **ours), (3, 2)) == n).all()
        assert (gradient_of(lambda t: hvd.grouped_allreduce([t, t], op=hvd.Sum, **ours), (3, 2)) == 2 * n).all()
        assert (gradient_of(lambda t: hvd.reducescatter(t, op=hvd.Sum, **ours), (n * 2, 2)) == n).all()
        assert (gradient_of(lambda t: hvd.reducescatter(t, **ours), (n * 2, 2)) == 1).all()
        assert (gradient_of(lambda t: hvd.grouped_reducescatter([t, t], op=hvd.Sum, **ours), (n * 2,)) == 2 * n).all()
        outer = torch.cat([torch.full((r + 1, 2), float(r)) for r in own.ranks])
        assert (gradient_of(lambda t: hvd.allgather(t, **ours), (rank + 1, 2), outer) == rank).all()
        assert (gradient_of(lambda t: hvd.grouped_allgather([t, t], **ours), (rank + 1, 2), outer) == 2 * rank).all()
        for root in own.ranks:
            assert (gradient_of(lambda t: hvd.broadcast(t, root, **ours), (4,)) == float(rank == root)).all()  # noqa: B023
        splits = [rank + 1] * n
        assert (gradient_of(lambda t: hvd.alltoall(t, splits, **ours)[0], ((rank + 1) * n, 2)) == 1).all()


def check_the_barrier_of_a_set_waits_for_no_other_rank():
    if size == 1:
        return
    first_two = hvd.add_process_set([0, 1]) if size > 2 else hvd.global_process_set
    with even_and_odd() as (even, odd):
        if rank % 2:
            hvd.barrier(odd)  # rank 0 reaches the barrier of its set afterwards
        if rank < 2:
            hvd.barrier(first_two)
        if rank % 2 == 0:
            hvd.barrier(even)
    hvd.barrier()
    hvd.remove_process_set(first_two)


def check_an_optimizer_of_a_set_leaves_other_ranks_alone():
    for op in (hvd.Average, hvd.Adasum):
        with even_and_odd() as (even, _):
            model, alone = horovod_networks.network(), horovod_networks.network()
            horovod_networks.train(model, torch.optim.SGD(model.parameters(), lr=0.1), 3, op=op, process_set=even)
            reference = torch.optim.SGD(alone.parameters(), lr=0.1)
            horovod_networks.train_whole(alone, reference, 3, ranks=even.ranks if even.included() else [rank])
            if op is hvd.Average or not even.included():
                horovod_networks.assert_close(model, alone)
            weights = model[0].weight.detach().view(1, -1)
            if even.included():
                assert (hvd.allgather(weights, process_set=even) == weights).all()


def check_sets_that_are_given_to_init():
    hvd.shutdown()
    everyone = list(range(size))
    first, again, all_of_them = hvd.ProcessSet([0]), hvd.ProcessSet([0]), hvd.ProcessSet(everyone[::-1])
    others = [everyone[:0:-1] if rank else everyone[1:]] if size > 1 else []
    hvd.init(comm=everyone, process_sets=[first, *others, all_of_them, again])
    assert all_of_them.process_set_id == 0 and first.process_set_id == again.process_set_id
    assert list(_comm.process_sets().values()) == ([everyone, [0], everyone[1:]] if size > 1 else [everyone])
    if size > 1:
        assert hvd.remove_process_set(first) and again.included() is None
        hvd.remove_process_set(hvd.ProcessSet(everyone[1:]))
    hvd.shutdown()
    assert all_of_them.process_set_id is None
    checks.raises(ValueError, lambda: hvd.init(comm=[0] * (size + 1)), "DDL-4-88")
    hvd.shutdown()
    hvd.init()


def check_init_after_another_module_has_joined_the_job():
    hvd.shutdown()
    ddl.init()
    hvd.init()
    assert hvd.global_process_set.included() and hvd.allreduce(torch.ones(1), op=hvd.Sum).item() == size


checks.run(sys.modules[__name__])
