"""Elastic state and sampler of tutti.horovod.torch, checked on every rank."""

import os
import sys
import tempfile

import checks
import torch
from horovod_networks import assert_close, network

import tutti.horovod.torch as hvd

hvd.init()
rank, size = hvd.rank(), hvd.size()


def check_state_is_synchronised_restored_and_committed():
    model, other = network(seed=rank), network(seed=99)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * (rank + 1))
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    schedule.last_epoch = 5 + rank
    state = hvd.elastic.TorchState(model, optimizer, schedule=schedule, batch=20 + rank, log=[rank])
    state.sync()
    assert_close(model, network(seed=0), 0)
    assert (state.batch, state.log, optimizer.param_groups[0]["lr"], schedule.last_epoch) == (20, [0], 0.1, 5)
    for is_committed in (False, True):
        model.load_state_dict(other.state_dict())
        state.batch = 21
        state.log.append("more")
        if is_committed:
            state.commit()
        state.restore()
        assert_close(model, other if is_committed else network(seed=0), 0)
        assert state.batch == 20 + is_committed and state.log == ([0, "more"] if is_committed else [0])


def check_a_part_that_is_set_anew_takes_the_place_of_the_old_one():
    state = hvd.elastic.TorchState(network(seed=1))
    assert state.optimizer is None
    state.model = network(seed=2 + rank)
    state.sync()
    assert_close(state.model, network(seed=2), 0)
    with torch.no_grad():
        state.model[0].weight.zero_()
    state.restore()
    assert_close(state.model, network(seed=2), 0)


def samples_of(sampler):
    """Returns the samples of all ranks."""
    return hvd.allgather(torch.tensor(list(sampler), dtype=torch.int64)).tolist()


def check_sampler():
    dataset = list(range(8 * size))
    sampler = hvd.elastic.ElasticSampler(dataset)
    loader = torch.utils.data.DataLoader(dataset, batch_size=2, sampler=sampler)
    state = hvd.elastic.TorchState(sampler=sampler)
    state.sync()
    assert (state.sampler.epoch, sampler.processed_num, len(sampler)) == (0, 0, 8)
    orders = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        assert sorted(samples_of(sampler)) == dataset
        orders.append(samples_of(sampler))
        for i, _ in enumerate(loader):
            sampler.record_batch(i, 2)
            assert sampler.processed_num == 2 * (i + 1) * size
        assert i == 3
    assert orders[0] != orders[1] or size == 1
    assert len(list(loader)) == 4  # the distribution does not change before the next epoch
    sampler.set_epoch(2)
    first = [x for _, batch in zip(range(2), loader) for x in batch.tolist()]
    for i in range(2):
        sampler.record_batch(i, 2)
    state.commit()
    sampler.record_batch(2, 2)
    state.restore()
    assert sampler.processed_num == 4 * size and len(sampler) == 4
    done = hvd.allgather(torch.tensor(first)).tolist()
    assert sorted(done + samples_of(sampler)) == dataset  # every sample is processed exactly once
    sampler.set_epoch(3)
    assert sampler.processed_num == 0 and len(sampler) == 8


def check_sampler_of_what_does_not_divide():
    sampler = hvd.elastic.ElasticSampler(list(range(size + 1)), shuffle=False)
    assert len(sampler) == len(list(sampler)) == 2
    assert set(samples_of(sampler)) == set(range(size + 1))
    sampler.record_batch(0, 1)
    sampler.load_state_dict(sampler.state_dict())
    assert samples_of(sampler) == [size] * size  # one sample remains: all ranks get it
    sampler.record_batch(0, 1)
    sampler.load_state_dict(sampler.state_dict())
    assert list(sampler) == [] and len(sampler) == 0


def check_run_goes_on_from_the_last_commit():
    folder = os.path.join(tempfile.gettempdir(), f"elastic.{os.environ['TUTTI_JOB']}")
    os.environ["TUTTI_ELASTIC_FOLDER"] = folder
    seen = []

    def job(fails):
        model = network(seed=rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        sampler = hvd.elastic.ElasticSampler(list(range(12 * size)))
        state = hvd.elastic.TorchState(model, optimizer, epoch=0, batch=0, sampler=sampler)
        state.register_reset_callbacks([lambda: seen.append("reset")])

        @hvd.elastic.run
        def train(state):
            for state.batch in range(state.batch, 6):
                if fails and state.batch == 4:
                    raise hvd.HorovodInternalError("a rank is lost")
                seen.append(state.batch)
                state.sampler.record_batch(0, 2)
                state.commit() if state.batch % 2 == 1 else None
            return state

        try:
            return train(state)
        except hvd.HorovodInternalError:
            assert state.batch == 3  # the last commit
            return state

    first = job(fails=True)
    assert first.sampler.processed_num == 8 * size and len(first.sampler) == 4
    second = job(fails=False)
    assert seen == [0, 1, 2, 3, "reset", 3, 4, 5], seen
    assert second.sampler.processed_num == 14 * size
    assert_close(first.model, second.model, 0)
    hvd.barrier()
    if rank == 0:
        os.rmdir(folder)  # empty after the end of training


checks.run(sys.modules[__name__])
