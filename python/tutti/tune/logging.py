"""Log of this module: one line per trial on standard error, unless the verbosity is lower."""

import logging
import sys
import threading
from logging import CRITICAL, DEBUG, ERROR, FATAL, INFO, WARN, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "WARNING", "disable_default_handler",
           "disable_propagation", "enable_default_handler", "enable_propagation", "get_logger", "get_verbosity",
           "set_verbosity"]

_ROOT = "tutti.tune"
_lock = threading.Lock()
_default_handler: logging.Handler | None = None


def create_default_formatter() -> logging.Formatter:
    """Return the format of the lines: [I 2030-01-01 12:00:00,000] message."""
    return logging.Formatter("[%(levelname)1.1s %(asctime)s] %(message)s")


def _get_library_root_logger() -> logging.Logger:
    return logging.getLogger(_ROOT)


def _configure_library_root_logger() -> None:
    global _default_handler
    with _lock:
        if _default_handler is None:
            _default_handler = logging.StreamHandler(sys.stderr)
            _default_handler.setFormatter(create_default_formatter())
            root = _get_library_root_logger()
            root.addHandler(_default_handler)
            root.setLevel(logging.INFO)
            root.propagate = False


def _reset_library_root_logger() -> None:
    global _default_handler
    with _lock:
        if _default_handler is not None:
            root = _get_library_root_logger()
            root.removeHandler(_default_handler)
            root.setLevel(logging.NOTSET)
            _default_handler = None


def get_logger(name: str) -> logging.Logger:
    """Return a logger of this module."""
    _configure_library_root_logger()
    return logging.getLogger(name)


def get_verbosity() -> int:
    """Return the level from which on lines are logged."""
    _configure_library_root_logger()
    return _get_library_root_logger().getEffectiveLevel()


def set_verbosity(verbosity: int) -> None:
    """Set the level from which on lines are logged: `tutti.tune.logging.WARNING` hides the line of every trial."""
    _configure_library_root_logger()
    _get_library_root_logger().setLevel(verbosity)


def disable_default_handler() -> None:
    """Do not write to standard error."""
    _configure_library_root_logger()
    _get_library_root_logger().removeHandler(_default_handler)


def enable_default_handler() -> None:
    """Write to standard error."""
    _configure_library_root_logger()
    _get_library_root_logger().addHandler(_default_handler)


def disable_propagation() -> None:
    """Do not pass lines to the root logger of Python."""
    _configure_library_root_logger()
    _get_library_root_logger().propagate = False


def enable_propagation() -> None:
    """Pass lines to the root logger of Python, too."""
    _configure_library_root_logger()
    _get_library_root_logger().propagate = True
