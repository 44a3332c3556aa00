"""What is kept of a training: values, models, optimizers, samplers."""

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
    """What subclasses keep by `save` and take up again by `restore`."""

    def __init__(self):
        self._reset_callbacks = []

    def register_reset_callbacks(self, callbacks):
        """Called when a training goes on, with another number of ranks perhaps."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        for callback in self._reset_callbacks:
            callback()

    def commit(self):
        """This is where a restart goes on. Costs a copy of the state, and on rank 0 the writing of it to `_folder()`."""
        self.save()
        if _folder() and basics.rank() == 0:
            self._write(_folder())
        self.check_host_updates()

    def check_host_updates(self):
        """Hosts do not change while the job runs."""

    def _write(self, folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f"{_FILE}.new"
            torch.save(self._saved_form(), unfinished)
            unfinished.replace(folder / _FILE)  # so that there is always a whole one
        except OSError as error:
            raise OSError(f"DDL-7-92 The state cannot be written to {folder}: {error}. Set TUTTI_ELASTIC_FOLDER.") from error

    def _take_up(self):
        """What a job before this one has committed, on rank 0. Gives whether there was something, on all ranks."""
        file = _folder() / _FILE if _folder() else None
        is_there = basics.rank() == 0 and file is not None and file.exists()
        if is_there:
            print(f"elastic: the training goes on from the commit in {file}", file=sys.stderr, flush=True)
            self._load_form(torch.load(file))
            self.restore()
        return broadcast_object(is_there, 0, "elastic.is_there")

    @staticmethod
    def _forget():
        """The training is over: the next one begins anew."""
        if _folder() and basics.rank() == 0:
            (_folder() / _FILE).unlink(missing_ok=True)


def _folder():
    """Where commits outlive the job: TUTTI_ELASTIC_FOLDER, or, as ddlrun starts a job again with it, ddlrun's folder of the run."""
    run = os.environ.get("TUTTI_RUN_FOLDER") if "DDL_RESTART_COUNT" in os.environ else None
    folder = os.environ.get("TUTTI_ELASTIC_FOLDER") or run
    return None if folder in (None, "", "none") else Path(folder)


class ObjectState(State):
    """Values given by keyword; they are attributes."""

    def __init__(self, **values):
        super().__init__()
        self._values = {}
        self._names = list(values)
        for name, value in values.items():
            setattr(self, name, value)
        self.save()

    def save(self):
        self._values = {name: copy.deepcopy(getattr(self, name)) for name in self._names}

    def restore(self):
        for name, value in self._values.items():
            setattr(self, name, copy.deepcopy(value))

    def sync(self):
        """All ranks take what rank 0 has."""
        self._values = broadcast_object({name: getattr(self, name) for name in self._names}, 0, "elastic.values")
        self.restore()

    def _saved_form(self):
        return {"values": self._values}

    def _load_form(self, form):
        self._values = form["values"]


class TorchState(ObjectState):
    """A model, an optimizer, anything else with state_dict and load_state_dict, such as samplers and schedules; and values.

    All are attributes; a part that is set anew, such as `state.optimizer`, takes the place of the old one and is saved.
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
        self._saved_parts = {name: copy.deepcopy(part.state_dict()) for name, part in self._parts.items()}
        super().save()

    def restore(self):
        for name, saved in self._saved_parts.items():
            self._parts[name].load_state_dict(copy.deepcopy(saved))
        super().restore()

    def sync(self):
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
    """`train(state, ...)`, begun with the last commit of a job before, if there was one. When a rank is lost the state goes back to
    the last commit and the error goes on to the launcher, which starts the job again."""

    @functools.wraps(train)
    def wrapper(state, *args, **kwargs):
        goes_on = state._take_up()
        state.sync()
        if goes_on:
            state.on_reset()
        try:
            result = train(state, *args, **kwargs)
        except HorovodInternalError:
            state.restore()
            raise
        state._forget()
        return result

    return wrapper
