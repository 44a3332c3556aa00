"""State of elastic training: values, models, optimizers and samplers."""

import copy
import functools
import os
import sys
from pathlib import Path

import torch

from tutti.horovod import basics
from tutti.horovod.exceptions import HorovodInternalError
from tutti.horovod.torch.functions import broadcast_object, broadcast_optimizer_state, broadcast_parameters

_FILE = "state.pt"


class State:
    """Base class of states. Subclasses implement `save` and `restore`."""

    def __init__(self):
        self._reset_callbacks = []

    def register_reset_callbacks(self, callbacks):
        """Register functions to call when training resumes, possibly with another number of ranks."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        """Call the registered functions."""
        for callback in self._reset_callbacks:
            callback()

    def commit(self):
        """Save the state as the point to resume from.

        The cost is a copy of the state; rank 0 also writes it to the directory of commits, if there is one.
        """
        self.save()
        if _folder() and basics.rank() == 0:
            self._write(_folder())
        self.check_host_updates()

    def check_host_updates(self):
        """Do nothing: hosts do not change while a job runs."""

    def _write(self, folder):
        """Replace the file of the last commit atomically."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f"{_FILE}.new"
            torch.save(self._saved_form(), unfinished)
            unfinished.replace(folder / _FILE)  # atomic: there is always a complete file
        except OSError as error:
            raise OSError(f"DDL-7-92 Cannot write the state to {folder}: {error}. Set TUTTI_ELASTIC_FOLDER to a writable directory.") from error

    def _load_commit(self):
        """Load the last commit of a previous job on rank 0. Return on all ranks whether there was one."""
        file = _folder() / _FILE if _folder() else None
        is_there = basics.rank() == 0 and file is not None and file.exists()
        if is_there:
            print(f"elastic: resuming from the commit in {file}", file=sys.stderr, flush=True)
            self._load_form(torch.load(file))
            self.restore()
        return broadcast_object(is_there, 0, "elastic.is_there")

    @staticmethod
    def _forget():
        """Delete the commit at the end of training, so the next job starts from scratch."""
        if _folder() and basics.rank() == 0:
            (_folder() / _FILE).unlink(missing_ok=True)


def _folder():
    """Return the directory of commits, or None: TUTTI_ELASTIC_FOLDER, or the run directory of a restarting ddlrun."""
    run = os.environ.get("TUTTI_RUN_FOLDER") if "DDL_RESTART_COUNT" in os.environ else None
    folder = os.environ.get("TUTTI_ELASTIC_FOLDER") or run
    return None if folder in (None, "", "none") else Path(folder)


class ObjectState(State):
    """State of Python values, passed by keyword and accessible as attributes.

    Parameters
    ----------
    **values : object
        Initial values; they must support deepcopy and pickle.
    """

    def __init__(self, **values):
        super().__init__()
        self._values = {}
        self._names = list(values)
        for name, value in values.items():
            setattr(self, name, value)
        self.save()

    def save(self):
        """Save a copy of the values in memory."""
        self._values = {name: copy.deepcopy(getattr(self, name)) for name in self._names}

    def restore(self):
        """Restore the values of the last `save`."""
        for name, value in self._values.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self):
        """Replace the values by those of rank 0. Collective."""
        self._values = broadcast_object({name: getattr(self, name) for name in self._names}, 0, "elastic.values")
        self.restore()

    def _saved_form(self):
        return {"values": self._values}

    def _load_form(self, form):
        self._values = form["values"]


class TorchState(ObjectState):
    """State of a model, an optimizer, other objects with `state_dict` and `load_state_dict`, and values.

    All of them are attributes. Assigning to one, such as `state.optimizer = ...`, replaces the object that is saved.

    Parameters
    ----------
    model : torch.nn.Module, optional
        Model to save.
    optimizer : torch.optim.Optimizer, optional
        Optimizer to save.
    **values : object
        Samplers, learning-rate schedules and other values.
    """

    def __init__(self, model=None, optimizer=None, **values):
        parts = {"model": model, "optimizer": optimizer}
        parts.update({name: value for name, value in values.items() if hasattr(value, "state_dict")})
        for name, part in parts.items():
            setattr(self, name, part)
        self._parts = {name: part for name, part in parts.items() if part is not None}
        super().__init__(**{name: value for name, value in values.items() if name not in self._parts})

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in self.__dict__.get("_parts", {}):
            self._parts[name] = value
            self._saved_parts[name] = copy.deepcopy(value.state_dict())

    def save(self):
        """Save a copy of all states and values in memory."""
        self._saved_parts = {name: copy.deepcopy(part.state_dict()) for name, part in self._parts.items()}
        super().save()

    def restore(self):
        """Restore all states and values of the last `save`."""
        for name, saved in self._saved_parts.items():
            self._parts[name].load_state_dict(copy.deepcopy(saved))
        super().restore()

    def sync(self):
        """Replace all states and values by those of rank 0. Collective."""
        for name, part in self._parts.items():
            if isinstance(part, torch.optim.Optimizer):
                broadcast_optimizer_state(part, 0)
            elif isinstance(part, torch.nn.Module):
                broadcast_parameters(part.state_dict(), 0)
            else:
                part.load_state_dict(broadcast_object(part.state_dict(), 0, f"elastic.{name}"))
        values = broadcast_object({name: getattr(self, name) for name in self._names}, 0, "elastic.values")
        for name, value in values.items():
            setattr(self, name, value)
        self.save()

    def _saved_form(self):
        return {"values": self._values, "parts": self._saved_parts}

    def _load_form(self, form):
        super()._load_form(form)
        self._saved_parts = form["parts"]


def run(train):
    """Decorate a training function so that it resumes from the last commit of a previous job.

    If a rank is lost, the state is restored to the last commit and the error is re-raised, so the launcher restarts the
    job.

    Parameters
    ----------
    train : callable
        Function whose first argument is a `State`.

    Returns
    -------
    callable
        The decorated function.
    """

    @functools.wraps(train)
    def wrapper(state, *args, **kwargs):
        is_resumed = state._load_commit()
        state.sync()
        if is_resumed:
            state.on_reset()
        try:
            result = train(state, *args, **kwargs)
        except HorovodInternalError:
            state.restore()
            raise
        state._forget()
        return result

    return wrapper
