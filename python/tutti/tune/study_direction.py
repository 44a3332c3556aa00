"""Directions of an optimization."""

import enum

__all__ = ["StudyDirection"]


class StudyDirection(enum.IntEnum):
    """Direction of an objective."""

    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2
