"""Elastic training: committed state that a restarted job resumes from.

    state = hvd.elastic.TorchState(model, optimizer, epoch=0, batch=0)

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, epochs):
            ...
            state.commit()

The loss of a rank ends the job. The launcher restarts it with the ranks that are available, and `run` resumes from the
last commit. Commits are kept in memory. Rank 0 also writes them to the directory TUTTI_ELASTIC_FOLDER, if it is set.
"""

from tutti.horovod.torch.elastic.sampler import ElasticSampler  # noqa: F401
from tutti.horovod.torch.elastic.state import ObjectState, State, TorchState, run  # noqa: F401
