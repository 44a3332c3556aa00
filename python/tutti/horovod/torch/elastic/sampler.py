"""A sampler that knows how much was done already, so that a restart in the middle of an epoch repeats nothing."""

import itertools
import math
import random

import torch

from tutti.horovod import basics


class ElasticSampler(torch.utils.data.Sampler):
    """Deals what is left of an epoch to the ranks there are. Call `record_batch` after each batch and `set_epoch` after each epoch.

    All ranks must record the same batches: then what is done is the beginning of the epoch's order, and its length tells all.
    """

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch, self.processed_num = 0, 0
        self.reset()

    def set_epoch(self, epoch):
        """A new epoch: nothing is done."""
        self.epoch, self.processed_num = epoch, 0
        self.reset()

    def record_batch(self, batch_idx, batch_size):
        """Every rank has done a batch. What is dealt stays as it is until `reset`, so that a loop over it may go on."""
        self.processed_num += batch_size * self.num_replicas

    def state_dict(self):
        return {"epoch": self.epoch, "processed_num": self.processed_num}

    def load_state_dict(self, state_dict):
        self.epoch, self.processed_num = state_dict["epoch"], state_dict["processed_num"]
        self.reset()

    def reset(self):
        """Deals what is left to the ranks there are now."""
        self.num_replicas = basics.size() if basics.is_initialized() else 1
        self.rank = basics.rank() if basics.is_initialized() else 0
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.Random(self.seed + self.epoch).shuffle(order)
        self.remaining_indices = order[self.processed_num :]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        # All ranks get equally many: what is missing for that is dealt a second time.
        whole = list(itertools.islice(itertools.cycle(self.remaining_indices), self.total_size))
        return iter(whole[self.rank :: self.num_replicas])

    def __len__(self):
        return self.num_samples
