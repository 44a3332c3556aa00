"""Ranks for the tests: forks of this process, which has already imported torch, so a job takes milliseconds."""

import faulthandler
import io
import multiprocessing
import os
import tempfile
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

import tutti.torch

TIMEOUT = 40  # s; a rank that takes longer hangs

torch.set_num_threads(1)
os.environ["TUTTI_RUN_FOLDER"] = "none"
os.environ["TUTTI_TUNING_CACHE"] = "none"
os.environ["DDL_TUNE_SECONDS"] = "0"


def _run(function, rank, size, folder, timeout, backend, pipe, args):
    faulthandler.dump_traceback_later(TIMEOUT - 5, exit=True)
    try:
        dist.init_process_group(
            backend, init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
        )
        result = function(*args)
        dist.barrier()
        dist.destroy_process_group()
        memory = io.BytesIO()  # torch would send handles of tensors, which are invalid after this process exits
        torch.save(result, memory)
        pipe.send(("", memory.getvalue()))
    except BaseException:  # noqa: the parent reports every error
        pipe.send((traceback.format_exc(), None))
    finally:
        tutti._torch.shut_down()


class Job:
    """Starts `function(*args)` on `size` ranks with a default group of `backend`."""

    def __init__(self, size, function, *args, timeout=30, environment=None, backend="ddl"):
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-torch-")
        context = multiprocessing.get_context("fork")
        self.pipes, self.processes = [], []
        saved = dict(os.environ)
        os.environ.update(environment or {})
        for rank in range(size):
            mine, theirs = context.Pipe()
            process = context.Process(
                target=_run, args=(function, rank, size, self.folder.name, timeout, backend, theirs, args)
            )
            process.start()
            theirs.close()
            self.pipes.append(mine)
            self.processes.append(process)
        os.environ.clear()
        os.environ.update(saved)

    def outcomes(self):
        """Returns (error text or "", result) by rank; None for a rank that died without a result."""
        deadline = time.monotonic() + TIMEOUT
        outcomes = []
        try:
            for rank, pipe in enumerate(self.pipes):
                assert pipe.poll(max(0, deadline - time.monotonic())), f"rank {rank} hangs"
                try:
                    outcomes.append(pipe.recv())
                except EOFError:
                    outcomes.append(None)
        finally:
            self.end()
        return outcomes

    def end(self):
        for process in self.processes:
            process.join(0.5)
            if process.is_alive():
                process.kill()
            process.join()
        self.folder.cleanup()


def run(size, function, *args, **kwargs):
    """Returns the results by rank; raises the error of a failed rank."""
    outcomes = Job(size, function, *args, **kwargs).outcomes()
    errors = [outcome[0] if outcome else "died" for outcome in outcomes]
    assert not any(errors), "\n".join(f"rank {rank}: {text}" for rank, text in enumerate(errors) if text)
    return [torch.load(io.BytesIO(outcome[1]), weights_only=False) for outcome in outcomes]
