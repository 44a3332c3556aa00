#!/usr/bin/python3
"""Training steps of a Transformer of GPT-2's shape: the worker of `tutti bench lms --case gpt2`.

  worker_gpt2.py trace FILE OPTION=VALUE ...        writes the trace of one step, recorded without a limit
  worker_gpt2.py run MODE STEPS OPTION=VALUE ...    one JSON line

MODE is a memory budget in bytes for large model support, 0 for torch alone, or a memory-saving method of PyTorch:
`checkpoint` (torch.utils.checkpoint around each layer) and `save_on_cpu` (torch.autograd.graph.save_on_cpu).
"""

import contextlib
import json
import sys
import time
import zlib

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tutti.lms import LMS

UNLIMITED = 1 << 40
OPTIONS = {"sequence": 256, "batch": 1, "layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x, mask):
        batch, sequence, width = x.shape
        q, k, v = self.qkv(x).view(batch, sequence, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5 + mask
        return self.projection((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, sequence, width))

    def forward(self, x, mask):
        x = x + self.attention(self.norms[0](x), mask)
        return x + self.mlp(self.norms[1](x))


class Gpt2(nn.Module):
    def __init__(self, options, is_checkpointed):
        super().__init__()
        width = options["width"]
        self.is_checkpointed = is_checkpointed
        self.tokens = nn.Embedding(options["vocabulary"], width)
        self.positions = nn.Embedding(options["sequence"], width)
        self.layers = nn.ModuleList(Layer(width, options["heads"]) for _ in range(options["layers"]))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        sequence = tokens.shape[1]
        mask = torch.full((sequence, sequence), float("-inf")).triu(1)
        x = self.tokens(tokens) + self.positions(torch.arange(sequence))
        for layer in self.layers:
            x = checkpoint(layer, x, mask) if self.is_checkpointed else layer(x, mask)
        return self.norm(x) @ self.tokens.weight.t()


class Trainer:
    def __init__(self, options, mode=""):
        torch.manual_seed(1)
        self.model = Gpt2(options, mode == "checkpoint")
        self.saved = torch.autograd.graph.save_on_cpu if mode == "save_on_cpu" else contextlib.nullcontext
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)
        tokens = torch.randint(options["vocabulary"], (options["batch"], options["sequence"] + 1))
        self.inputs, self.targets = tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)
        with self.saved():
            logits = self.model(self.inputs)
            loss = nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), self.targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def digest(self):
        digest = 0
        for parameter in self.model.parameters():
            digest = zlib.crc32(parameter.grad.contiguous().numpy(), digest)
        return digest


def counters(lms):
    return lms.report(as_dict=True)


def write_trace(file, options):
    with LMS(budget=UNLIMITED, mode="swap", lms=0) as lms:
        trainer = Trainer(options)
        for _ in range(4):  # a recorded step ends when the next forward pass starts
            trainer.step()
        with open(file, "w", encoding="utf-8") as output:
            json.dump(lms.trace(), output)


def measured(trainer, steps, before_last=lambda: None):
    seconds, losses = [], []
    for step in range(steps):
        if step == steps - 1:
            before_last()
        start = time.perf_counter()
        losses.append(trainer.step())
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "losses": losses, "gradients": trainer.digest()}


def run_with_lms(budget, steps, options):
    before = {}
    with LMS(budget=budget) as lms:
        line = measured(Trainer(options), steps, lambda: before.update(counters(lms)))
        after = counters(lms)
    line["peak"] = after["peak_resident"]
    names = {"written": "bytes_written", "read": "bytes_read", "unplanned_reads": "unplanned_reads", "evictions": "evictions"}
    return line | {name: after[counter] - before[counter] for name, counter in names.items()}


def run_with_torch(mode, steps, options):
    with LMS(budget=UNLIMITED, mode="swap", lms=0) as lms:  # only counts bytes
        trainer = Trainer(options, mode)
        for _ in range(2):  # the first one allocates gradients and momentum
            trainer.step()
        peak = counters(lms)["peak_resident"]
    return measured(Trainer(options, mode), steps) | {"peak": peak}


def main():
    action, target, *arguments = sys.argv[1:]
    options = dict(OPTIONS)
    for argument in arguments[action == "run" :]:
        name, _, value = argument.partition("=")
        if name not in OPTIONS:
            sys.exit(f"DDL-1-04 Unknown option {name}. Valid options: {', '.join(OPTIONS)}.")
        options[name] = int(value)
    if options["width"] % options["heads"]:
        sys.exit(f"DDL-1-03 width {options['width']} is not a multiple of heads {options['heads']}. Change one of them.")
    if action == "trace":
        return write_trace(target, options)
    steps = int(arguments[0])
    with_lms = target.isdigit() and int(target) > 0
    line = run_with_lms(int(target), steps, options) if with_lms else run_with_torch(target, steps, options)
    print(json.dumps(line))


if __name__ == "__main__":
    main()
