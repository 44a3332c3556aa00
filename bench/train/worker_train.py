#!/usr/bin/python3
"""A rank of the peer in `tutti bench train`: the hep network in DistributedDataParallel over Gloo.

  worker_train.py default|tuned IMAGE BATCH STEPS

default: as a first script would have it. tuned: channels_last and bfloat16 autocast, and gradients that are views of
the buckets. Rank 0 prints one JSON line with the seconds of every step, those of the slowest rank.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 3


def network():
    layers, inputs = [], 3
    for layer in range(5):
        layers += [nn.Conv2d(inputs, 128, 3, padding=1), nn.ReLU()]
        if layer < 4:
            layers += [nn.MaxPool2d(2), nn.Dropout(0.5)]
        inputs = 128
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 2))


def main(variant, image, batch, steps):
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dist.init_process_group("gloo")
    tuned = variant == "tuned"
    model, pixels = network(), torch.rand(batch, 3, image, image)
    if tuned:
        model, pixels = model.to(memory_format=torch.channels_last), pixels.to(memory_format=torch.channels_last)
    model = DistributedDataParallel(model, gradient_as_bucket_view=tuned)
    labels = torch.randint(0, 2, (batch,))
    optimizer = torch.optim.Adam(model.parameters())
    seconds = torch.zeros(steps, dtype=torch.float64)
    for step in range(-WARM_UP, steps):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=not tuned)
        with torch.autocast("cpu", torch.bfloat16, enabled=tuned):
            loss = nn.functional.cross_entropy(model(pixels).float(), labels)
        loss.backward()
        optimizer.step()
        if step >= 0:
            seconds[step] = time.perf_counter() - start
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(json.dumps({"step_seconds": seconds.tolist()}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
