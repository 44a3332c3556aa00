"""Large model support: training of networks and inputs that are larger than memory.

    from tutti.lms import LMS

    with LMS(budget="2GiB") as lms:
        model = lms.wrap(Network())
        for x, y in batches:
            ...
        print(lms.report())

Inside the block, resident bytes of CPU tensors of at least 256 KiB never exceed the budget. Tensors that no running
operator uses are moved to an unnamed file on the local disk and read back before they are used. Results are bitwise
identical to a run without it. The first steps move tensors when memory is short; later steps follow a plan made from a
recorded step.

`set_enabled_lms`, `set_limit_lms` and `set_size_lms` are the functions of IBM's large model support for PyTorch (2019).
"""

import json
import os
from pathlib import Path

import torch

from tutti import _torch

__all__ = [
    "LMS",
    "get_enabled_lms",
    "get_limit_lms",
    "get_size_lms",
    "keras_callback",
    "set_enabled_lms",
    "set_limit_lms",
    "set_size_lms",
]


def _text(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


class LMS:
    """Large model support with a memory budget, as a context manager.

    Parameters
    ----------
    budget : str or int, default="auto"
        Limit of resident tensor memory, in bytes or as text ("2GiB"). "auto": 90 % of the memory that is available to
        the process.
    mode : {"auto", "swap", "recompute", "full", "off"}, default="auto"
        "auto": swap or recompute a tensor, whichever is faster. "swap", "recompute": only swap; recompute where
        possible. "full": as "auto", and also move parameters, gradients and optimizer state. "off": disabled.
    swap_dir : str or path, default=""
        Directory on a local disk for the swap file. Empty: TUTTI_LMS_DIR, else TMPDIR, else /var/tmp.
    ranks : int, default=1
        Number of processes on this host that share the budget.
    tiling : bool or str, default=False
        Run operators on large tensors in tiles, so they need less memory at once. Text: the size of a tile ("64MiB").
        Results then differ by rounding from those of untiled operators, but do not depend on the budget.
    **options
        `lms`, `lms_frac`, `swapout_threshold`, `swapin_ahead`, `swapin_groupby`, `sync_mode`, `autotune`,
        `autotune_plot` (SVG file that is written at the end), `compaction`.

    Raises
    ------
    tutti.job.ConfigError
        An option is unknown or invalid.
    RuntimeError
        In a torch operator that needs more than the budget (DDL-5-70); the message names it and a sufficient budget.
    """

    def __init__(self, budget="auto", mode="auto", swap_dir="", ranks=1, tiling=False, **options):
        values = {"budget": budget, "mode": mode, "tiling": tiling, **options}
        if swap_dir:
            values["swap_dir"] = swap_dir
        self._values = {name: _text(value) for name, value in values.items()}
        self._ranks = ranks
        _torch.lms_check(self._values)

    def start(self):
        """Enable large model support for the process. Raises `ConfigError` if it is enabled already, and `IoError` if
        the swap file cannot be created.
        """
        if self._values["mode"] != "off":
            _torch.lms_start(self._values, self._ranks)
        return self

    def stop(self):
        """Make all managed tensors resident and stop managing new ones."""
        if self._values["mode"] != "off":
            _torch.lms_stop()

    def __enter__(self):
        return self.start()

    def __exit__(self, *exception):
        self.stop()

    def wrap(self, model):
        """Move the parameters and buffers of an existing model to managed memory, and return the model.

        Enables large model support if it is not enabled yet.
        """
        if self._values["mode"] != "off" and not _torch.lms_is_enabled():
            self.start()
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                tensor.data = tensor.data.clone()
        return model

    def report(self, as_dict=False):
        """Return bytes moved, waiting times, a prediction and advice for the last step, as text or as a dictionary."""
        return json.loads(_torch.lms_report_json()) if as_dict else _torch.lms_report()

    def plot(self, path):
        """Write an SVG file with the memory over time of the last step, with and without large model support. Raises
        `ConfigError` before the first complete step.
        """
        Path(path).write_text(_torch.lms_report_svg(), encoding="utf-8")

    def trace(self):
        """Return the last complete step as a dictionary, the input of `tutti lms simulate`."""
        return json.loads(_torch.lms_trace_json())


def keras_callback(budget="auto", **options):
    """Return a Keras callback that enables large model support while a model is trained.

    Keras must use its torch backend. The attribute `lms` of the callback is the `LMS` object.

    Parameters
    ----------
    budget, **options
        As for `LMS`.

    Examples
    --------
    model.fit(x, y, callbacks=[tutti.lms.keras_callback("2GiB")])
    """
    import keras

    backend = keras.backend.backend()
    if backend != "torch":
        raise ValueError(
            f"Large model support needs Keras on the torch backend, but the backend is {backend}. Set "
            "KERAS_BACKEND=torch before Keras is imported."
        )
    lms = LMS(budget, **options)
    is_started = False

    def start(logs=None):
        nonlocal is_started
        if not is_started:  # also after a training that failed
            lms.start()
        is_started = True

    def stop(logs=None):
        nonlocal is_started
        is_started = False
        lms.stop()

    callback = keras.callbacks.LambdaCallback(on_train_begin=start, on_train_end=stop)
    callback.lms = lms
    return callback


_legacy = {"limit": 0, "size": 256 << 10}  # bytes


def set_enabled_lms(enable):
    """Enable or disable large model support. Existing tensors are not managed."""
    if enable == _torch.lms_is_enabled():
        return
    if not enable:
        return _torch.lms_stop()
    budget = _legacy["limit"] or "auto"
    _torch.lms_start({"budget": str(budget), "lms": str(_legacy["size"] // 1024)}, 1)


def get_enabled_lms():
    """Return whether large model support is enabled."""
    return _torch.lms_is_enabled()


def set_limit_lms(limit):
    """Set the memory budget in bytes; 0: the memory that is available."""
    if limit and _torch.lms_is_enabled():
        _torch.lms_set_budget(limit)
    _legacy["limit"] = limit


def get_limit_lms():
    """Return the memory budget in bytes; 0: the memory that is available."""
    return _legacy["limit"]


def set_size_lms(size):
    """Set the size in bytes of the smallest managed tensor. Takes effect when large model support is next enabled."""
    _legacy["size"] = size


def get_size_lms():
    """Return the size in bytes of the smallest tensor that is managed."""
    return _legacy["size"]
