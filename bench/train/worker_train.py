#!/usr/bin/python3
"""A rank of the baseline in `tutti bench train`: the network of a case in DistributedDataParallel over Gloo.

  worker_train.py hep|cosmoflow|climate-segment default|tuned SIDE BATCH STEPS

default: as a first script would have it. tuned: channels_last, gradients that are views of the buckets, and bfloat16
autocast where the processor has instructions for it: elsewhere it is slower than f32. Rank 0 prints one JSON line with the seconds of every step, those of the slowest
rank, and the number of parameters.
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


class Hep(nn.Sequential):
    def __init__(self, side):
        layers, inputs = [], 3
        for layer in range(5):
            layers += [nn.Conv2d(inputs, 128, 3, padding=1), nn.ReLU()]
            if layer < 4:
                layers += [nn.MaxPool2d(2), nn.Dropout(0.5)]
            inputs = 128
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 2))

    @staticmethod
    def batch(count, side):
        return torch.rand(count, 3, side, side), torch.randint(0, 2, (count,))

    loss = staticmethod(nn.functional.cross_entropy)


class Cosmoflow(nn.Sequential):
    """Filters, kernel, stride and pooling of the published layers that fit into the volume; 8 filters first."""

    LAYERS = [(1, 3, 1, True), (2, 4, 1, True), (4, 4, 1, True), (8, 3, 2, False), (16, 3, 1, False),
              (16, 2, 1, False), (16, 2, 1, False)]

    def __init__(self, side):
        filters, inputs, layers = 8, 1, []
        for factor, kernel, stride, pools in self.LAYERS:
            after = (side - kernel) // stride + 1
            after = after // 2 if pools else after
            if side < kernel or after < 1:
                break
            layers += [nn.Conv3d(inputs, factor * filters, kernel, stride), nn.LeakyReLU(0.01)]
            layers += [nn.AvgPool3d(2)] if pools else []
            inputs, side = factor * filters, after
        flat, wide, narrow = inputs * side**3, 128 * filters, 16 * filters
        super().__init__(*layers, nn.Flatten(), nn.BatchNorm1d(flat, affine=False), nn.Linear(flat, wide),
                         nn.LeakyReLU(0.01), nn.Linear(wide, narrow), nn.LeakyReLU(0.01), nn.Linear(narrow, 3))

    @staticmethod
    def batch(count, side):
        return torch.rand(count, 1, side, side, side), torch.rand(count, 3)

    loss = staticmethod(nn.functional.l1_loss)


class Tiramisu(nn.Module):
    """Two dense layers in each of three blocks down and two up; half the published filters."""

    FIRST, GROWTH, LAYERS = 32, 16, 2

    def __init__(self, side):
        super().__init__()
        added, channels = self.LAYERS * self.GROWTH, self.FIRST
        self.first = nn.Conv2d(16, channels, 3, padding=1)
        self.blocks, self.halves, self.doubles, skips = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), []
        for level in range(3):
            self.blocks.append(self.block(channels))
            if level < 2:
                channels += added
                skips.append(channels)
                self.halves.append(nn.Conv2d(channels, channels, 1, stride=2))
        for skip in reversed(skips):
            self.doubles.append(nn.ConvTranspose2d(added, added, 3, stride=2, padding=1, output_padding=1))
            channels = skip + added
            self.blocks.append(self.block(channels))
        self.last = nn.Conv2d(channels + added, 3, 1)

    def block(self, channels):
        return nn.ModuleList(nn.Conv2d(channels + i * self.GROWTH, self.GROWTH, 3, padding=1)
                             for i in range(self.LAYERS))

    @staticmethod
    def dense(block, x):
        seen = [x]
        for layer in block:
            seen.append(torch.relu(layer(torch.cat(seen, 1))))
        return torch.cat(seen[1:], 1)

    def forward(self, x):
        x, skips = torch.relu(self.first(x)), []
        for block, halve in zip(self.blocks[:2], self.halves):
            skips.append(torch.cat([x, self.dense(block, x)], 1))
            x = torch.relu(halve(skips[-1]))
        added = self.dense(self.blocks[2], x)
        for block, double in zip(self.blocks[3:], self.doubles):
            x = torch.cat([skips.pop(), double(added)], 1)
            added = self.dense(block, x)
        return self.last(torch.cat([x, added], 1))

    @staticmethod
    def batch(count, side):
        return torch.rand(count, 16, side, side * 3 // 2), torch.randint(0, 3, (count, side, side * 3 // 2))

    loss = staticmethod(nn.functional.cross_entropy)


NETWORKS = {"hep": Hep, "cosmoflow": Cosmoflow, "climate-segment": Tiramisu}


def has_bf16():
    flags = {flag for line in open("/proc/cpuinfo") if line.startswith("flags") for flag in line.split()}
    return bool(flags & {"avx512_bf16", "amx_bf16"})


def main(case, variant, side, batch, steps):
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    dist.init_process_group("gloo")
    tuned = variant == "tuned"
    network = NETWORKS[case]
    model, (samples, labels) = network(side), network.batch(batch, side)
    if tuned:
        layout = torch.channels_last_3d if samples.dim() == 5 else torch.channels_last
        model, samples = model.to(memory_format=layout), samples.to(memory_format=layout)
    model = DistributedDataParallel(model, gradient_as_bucket_view=tuned)
    optimizer = torch.optim.Adam(model.parameters())
    seconds = torch.zeros(steps, dtype=torch.float64)
    for step in range(-WARM_UP, steps):
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=not tuned)
        with torch.autocast("cpu", torch.bfloat16, enabled=tuned and has_bf16()):
            loss = network.loss(model(samples).float(), labels)
        loss.backward()
        optimizer.step()
        if step >= 0:
            seconds[step] = time.perf_counter() - start
    dist.all_reduce(seconds, dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        count = sum(each.numel() for each in model.parameters())
        print(json.dumps({"step_seconds": seconds.tolist(), "parameters": count}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:6]))
