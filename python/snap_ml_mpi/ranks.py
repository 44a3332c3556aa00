"""The ranks of this job, made when they are first asked for."""

from tutti import _learn

_ranks = None


def ranks():
    global _ranks
    if _ranks is None:
        _ranks = _learn.Ranks()
    return _ranks
