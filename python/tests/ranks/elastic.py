"""Training that loses a rank in its first run and resumes in the second; started by ddlrun --max-restarts."""

import os
import signal

import torch

import tutti.horovod.torch as hvd

hvd.init()
model = torch.nn.Linear(4, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), model.named_parameters())
state = hvd.elastic.TorchState(model, optimizer, batch=0)


@hvd.elastic.run
def train(state):
    if hvd.rank() == 0:
        print(f"begins with batch {state.batch}", flush=True)
    for state.batch in range(state.batch, 6):
        if state.batch == 3 and os.environ["DDL_RESTART_COUNT"] == "0" and hvd.rank() == hvd.size() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        state.model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        state.batch += 1
        state.commit()
    if hvd.rank() == 0:
        print(f"ends with batch {state.batch}", flush=True)


train(state)
