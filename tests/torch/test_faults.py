"""A killed, stopped, mismatched or late rank is reported on all other ranks, and no rank hangs."""

import os
import re
import signal
import time
from datetime import timedelta

import torch
import torch.distributed as dist

import ranks

FAULTY = 1


def errors_of_others(job, size):
    """Returns the errors of all ranks except the faulty one."""
    outcomes = job.outcomes()
    return [outcomes[rank][0] for rank in range(size) if rank != FAULTY]


def all_reduces(count=1000):
    for _ in range(10):
        dist.all_reduce(torch.ones(count))


def killed(variant):
    all_reduces()
    if dist.get_rank() == FAULTY:
        os.kill(os.getpid(), signal.SIGKILL)
    if variant == "asynchronous":
        dist.all_reduce(torch.ones(1 << 20), async_op=True).get_future().wait()
    elif variant == "message":
        dist.recv(torch.ones(1), FAULTY)
    else:
        dist.all_reduce(torch.ones(5))


def test_a_killed_rank_is_named():
    for variant in ("blocking", "asynchronous", "message"):
        begin = time.monotonic()
        for text in errors_of_others(ranks.Job(3, killed, variant), 3):
            assert re.search(r"DDL-4-04 Rank 1 on \S+ \(process \d+\) is dead", text), (variant, text)
        assert time.monotonic() - begin < ranks.TIMEOUT / 2


def killed_in_backward():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(300, 300))
    for step in range(5):
        loss = model(torch.ones(2, 300)).sum()
        if step == 3 and dist.get_rank() == FAULTY:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()


def test_a_rank_killed_in_the_backward_pass_is_named():
    for text in errors_of_others(ranks.Job(2, killed_in_backward), 2):
        assert re.search(r"DDL-4-04 Rank 1 .* is dead", text), text


def stopped():
    all_reduces()
    if dist.get_rank() == FAULTY:
        os.kill(os.getpid(), signal.SIGSTOP)
    dist.all_reduce(torch.ones(5))


def test_a_stopped_rank_is_named_after_the_timeout():
    job = ranks.Job(2, stopped, timeout=1, environment={"DDL_STALL_SECONDS": "0.3"})
    try:
        assert job.pipes[0].poll(ranks.TIMEOUT), "rank 0 hangs"
        text = job.pipes[0].recv()[0]
    finally:
        os.kill(job.processes[FAULTY].pid, signal.SIGKILL)
        job.end()
    assert re.search(r"DDL-4-05 Rank 0 timed out in all_reduce .* rank 1 .*stopped by a signal", text), text


def differ(variant):
    is_faulty = dist.get_rank() == FAULTY
    if variant == "size":
        dist.all_reduce(torch.ones(8 if is_faulty else 7))
    elif variant == "type":
        dist.all_reduce(torch.ones(7, dtype=torch.float64 if is_faulty else torch.float32))
    elif variant == "operation":
        dist.all_reduce(torch.ones(7), dist.ReduceOp.MAX if is_faulty else dist.ReduceOp.SUM)
    elif is_faulty:
        dist.barrier()
    else:
        dist.broadcast(torch.ones(7), 0)


def test_mismatched_calls_name_both_sides():
    sides = {"size": ("7 x f32", "8 x f32"), "type": ("7 x f32", "7 x f64"), "operation": ("sum", "max"),
             "collective": ("broadcast", "barrier")}
    for variant, expected in sides.items():
        for outcome in ranks.Job(3, differ, variant).outcomes():
            assert "DDL-4-02" in outcome[0] and all(text in outcome[0] for text in expected), (variant, outcome[0])


def exits_with_error():
    all_reduces()
    if dist.get_rank() == FAULTY:
        raise ValueError("an error of the script")
    dist.all_reduce(torch.ones(5))


def test_a_rank_that_ends_with_an_error_is_named():
    outcomes = ranks.Job(2, exits_with_error).outcomes()
    assert re.search("DDL-4-03 Rank 1 .* has left the job", outcomes[0][0]), outcomes[0][0]
    assert "an error of the script" in outcomes[1][0]


def late(variant):
    group = dist.new_group(timeout=timedelta(seconds=0.3)) if variant == "group" else None
    if dist.get_rank() == FAULTY:
        while True:  # until it learns that the others have aborted
            dist.recv(torch.zeros(1), 0)
    if variant == "wait":
        work = dist.all_reduce(torch.ones(1), async_op=True)
        work.wait(timedelta(seconds=0.2))
    dist.all_reduce(torch.ones(1), group=group)


def test_groups_and_waits_have_separate_timeouts():
    for variant, expected in (("group", "DDL-4-05 Rank 0 timed out"), ("wait", "DDL-4-05 the operation was not complete within the timeout of wait(), 200 ms")):
        job = ranks.Job(2, late, variant)
        try:
            assert job.pipes[0].poll(ranks.TIMEOUT), "rank 0 hangs"
            text = job.pipes[0].recv()[0]
        finally:
            job.processes[FAULTY].kill()
            job.end()
        assert expected in text, text


def late_at_monitored_barrier(wait_all_ranks):
    dist.monitored_barrier(timeout=timedelta(seconds=30))
    if dist.get_rank() == FAULTY:
        dist.recv(torch.zeros(1), 0)  # fails when the others have aborted
    dist.monitored_barrier(timeout=timedelta(seconds=1), wait_all_ranks=wait_all_ranks)


def test_a_monitored_barrier_names_the_missing_rank():
    for wait_all_ranks in (False, True):
        for text in errors_of_others(ranks.Job(3, late_at_monitored_barrier, wait_all_ranks), 3):
            assert re.search(r"Rank 1 failed to pass monitoredBarrier in 1000 ms", text), text
