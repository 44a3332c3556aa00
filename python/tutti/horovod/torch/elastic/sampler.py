"""A sampler that knows what was done already, so that a restart in the middle of an epoch repeats nothing."""

import math
import random

import torch

from tutti.horovod import basics
from tutti.horovod.torch.functions import allgather_object


class ElasticSampler(torch.utils.data.Sampler):
    """Deals what is left of an epoch to the ranks there are. Call `record_batch` after each batch and `set_epoch` after each epoch."""

    def __init__(self, dataset, shuffle=True, seed=0):
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch, self.processed_indices = 0, set()
        self.reset()

    def set_epoch(self, epoch):
        """A new epoch: nothing is done."""
        self.epoch, self.processed_indices = epoch, set()
        self.reset()

    def record_batch(self, batch_idx, batch_size):
        """The batch of this number is done."""
        self.record_indices(self.get_indices(batch_idx, batch_size))

    def record_indices(self, indices):
        """These examples are done."""
        self.processed_indices.update(indices)

    def get_indices(self, batch_idx, batch_size):
        """The examples of the batch of this number."""
        first = batch_idx * batch_size
        return self.indices[first : min(first + batch_size, len(self.indices))]

    def state_dict(self):
        return {"epoch": self.epoch, "processed_indices": set(self.processed_indices)}

    def load_state_dict(self, state_dict):
        self.epoch = state_dict["epoch"]
        self.processed_indices = set(state_dict["processed_indices"])
        self.reset()

    def sync(self):
        """All ranks know what any rank has done."""
        states = allgather_object(self.state_dict())
        done = set().union(*(state["processed_indices"] for state in states))
        self.load_state_dict({"epoch": states[0]["epoch"], "processed_indices": done})

    def reset(self):
        """Deals what is left."""
        size = basics.size() if basics.is_initialized() else 1
        rank = basics.rank() if basics.is_initialized() else 0
        left = [i for i in range(len(self.dataset)) if i not in self.processed_indices]
        if self.shuffle:
            random.Random(f"{self.seed}.{self.epoch}").shuffle(left)
        self.num_samples = math.ceil(len(left) / size)
        whole = left + left[: self.num_samples * size - len(left)]
        self.indices = whole[rank : self.num_samples * size : size]

    def __iter__(self):
        return iter(list(self.indices))

    def __len__(self):
        return len(self.indices)
