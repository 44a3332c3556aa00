"""Sampler that resumes in the middle of an epoch."""

import itertools
import math
import random

import torch

from tutti.horovod import basics


class ElasticSampler(torch.utils.data.Sampler):
    """Distribute the remaining samples of an epoch over the current ranks.

    Call `record_batch` after each batch and `set_epoch` after each epoch. All ranks must record the same batches: the
    processed samples are then a prefix of the order of the epoch, and its length describes the progress.

    Parameters
    ----------
    dataset : torch.utils.data.Dataset
        Data set to sample from.
    shuffle : bool, optional
        Shuffle the samples in every epoch.
    seed : int, optional
        Seed of the shuffle, the same on all ranks.

    Examples
    --------
    >>> import tutti.horovod.torch as hvd
    >>> hvd.init()
    >>> sampler = hvd.elastic.ElasticSampler(list("abcdef"), shuffle=False)
    >>> sampler.record_batch(batch_idx=0, batch_size=2)
    >>> sampler.reset()
    >>> list(sampler)
    [2, 3, 4, 5]
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch, self.processed_num = 0, 0
        self.reset()

    def set_epoch(self, epoch):
        """Start an epoch without processed samples."""
        self.epoch, self.processed_num = epoch, 0
        self.reset()

    def record_batch(self, batch_idx, batch_size):
        """Record a batch as processed on every rank. The current iteration is not affected until `reset`."""
        self.processed_num += batch_size * self.num_replicas

    def state_dict(self):
        """Return the epoch and the number of processed samples."""
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict):
        """Restore the state from `state_dict`."""
        self.epoch, self.processed_num = state_dict["epoch"], state_dict["processed_num"]
        self.reset()

    def reset(self):
        """Redistribute the remaining samples over the current ranks."""
        self.num_replicas = basics.size() if basics.is_initialized() else 1
        self.rank = basics.rank() if basics.is_initialized() else 0
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(order)
        self.remaining_indices = order[self.processed_num :]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        # All ranks get the same number of samples: pad by repeating the first ones.
        whole = list(itertools.islice(itertools.cycle(self.remaining_indices), self.total_size))
        return iter(whole[self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples
