"""Training that survives restarts: state that is committed, and taken up again when the job is started anew.

    state = hvd.elastic.TorchState(model, optimizer, epoch=0, batch=0)

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, epochs):
            ...
            state.commit()

A lost rank ends the job; the launcher starts it again, with as many ranks as there are then, and `run` goes on from the last commit.
Commits are kept in memory and, with TUTTI_ELASTIC_FOLDER, by rank 0 in a file of that folder.
"""

from tutti.horovod.torch.elastic.sampler import ElasticSampler  # noqa: F401
from tutti.horovod.torch.elastic.state import ObjectState, State, TorchState, run  # noqa: F401
