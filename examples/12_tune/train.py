#!/usr/bin/python3
"""A small network for noisy waves. Its options are searched by `tutti tune`."""

import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=1e-3, help="learning rate")
parser.add_argument("--width", type=int, default=16, help="units of the hidden layer")
parser.add_argument("--activation", choices=("relu", "tanh"), default="relu")
options = parser.parse_args()

torch.manual_seed(1)
x = torch.linspace(-1, 1, 256).unsqueeze(1)
y = torch.sin(6 * x) + 0.1 * torch.randn_like(x)
activation = torch.nn.ReLU() if options.activation == "relu" else torch.nn.Tanh()
network = torch.nn.Sequential(torch.nn.Linear(1, options.width), activation, torch.nn.Linear(options.width, 1))
optimizer = torch.optim.Adam(network.parameters(), options.rate)
for epoch in range(1, 17):
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch={epoch} loss={loss.item():.6f}", flush=True)
