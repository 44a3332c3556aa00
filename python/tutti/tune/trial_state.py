"""States of a trial."""

import enum

__all__ = ["TrialState"]


class TrialState(enum.IntEnum):
    """State of a trial."""

    RUNNING = 0
    COMPLETE = 1
    PRUNED = 2
    FAIL = 3
    WAITING = 4

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def is_finished(self) -> bool:
        """Return True if the trial is not running and not waiting."""
        return self not in (TrialState.RUNNING, TrialState.WAITING)
