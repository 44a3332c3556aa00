"""torch.distributed.monitored_barrier for the backend `ddl`; torch's implementation requires Gloo."""

import functools
import re

import torch.distributed as dist

from tutti.torch import compat


def for_backend(backend, original):
    """Return a monitored_barrier for groups of `backend` that passes all other groups to `original`."""

    @functools.wraps(original)
    def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
        if dist.distributed_c10d._rank_not_in_group(group) or compat.name_of_backend(group) != backend:
            return original(group, timeout, wait_all_ranks)
        options = dist.BarrierOptions()
        options.timeout = timeout or dist.default_pg_timeout
        try:
            (group or dist.distributed_c10d._get_default_group()).barrier(options).wait()
        except RuntimeError as error:
            raise RuntimeError(_message(str(error), options.timeout, wait_all_ranks)) from error

    return monitored_barrier


def _message(text, timeout, wait_all_ranks):
    """Return the error in the wording of torch, which programs search for; the barrier has named the missing ranks."""
    missing = re.findall(r"rank (\d+) on ", text)
    if "DDL-4-05" not in text or not missing:
        return text
    named = f"Ranks {', '.join(missing)}" if wait_all_ranks and len(missing) > 1 else f"Rank {missing[0]}"
    return f"{named} failed to pass monitoredBarrier in {round(timeout.total_seconds() * 1000)} ms. {text}"
