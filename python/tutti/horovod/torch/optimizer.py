"""DistributedOptimizer: an optimizer whose gradients are those of all ranks."""

import collections
import contextlib
import itertools
import os
import warnings

import torch

from tutti import _comm
from tutti.horovod.basics import Adasum, Average, Sum, global_process_set
from tutti.horovod.exceptions import as_horovod
from tutti.horovod.torch.compression import Compression
from tutti.horovod.torch.functions import broadcast_object
from tutti.horovod.torch.movement import sparse_allreduce_async
from tutti.horovod.torch.ops import (
    _TYPES,
    allreduce_async_,
    grouped_allreduce_,
    synchronize,
    tensor_at,
)

_numbers = collections.defaultdict(itertools.count)  # by process set: its ranks count alike


def DistributedOptimizer(
    optimizer,
    named_parameters=None,
    compression=Compression.none,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
    num_groups=0,
    groups=None,
    sparse_as_dense=False,
    process_set=global_process_set,
):
    """The optimizer, with gradients that are averaged over all ranks before its step.

    Gradients move to library memory and are reduced in buckets while the backward pass still runs; `step` waits for them.

    named_parameters: `model.named_parameters()`; checked, and used in messages.
    compression: one of Compression, or an own compressor with compress and decompress.
    backward_passes_per_step: so many backward passes are added up before they are reduced.
    op: Average, Sum, or Adasum (which reduces the changes that the step makes, not the gradients).
    gradient_predivide_factor: gradients are divided by it before the sum, and the rest of the average after.
    num_groups, groups: gradients always go in buckets; both are accepted and change nothing.
    sparse_as_dense: sparse gradients are reduced as dense ones instead of gathered; the step gets sparse ones again.
    process_set: whose gradients are reduced; on a rank that is not in it, this is the optimizer as it was.
    """
    if gradient_predivide_factor != 1.0 and op is not Average:
        raise ValueError("DDL-4-96 gradient_predivide_factor works with op Average only.")
    if backward_passes_per_step <= 0:
        raise ValueError("DDL-4-96 backward_passes_per_step must be greater than 0.")
    if op not in (Average, Sum, Adasum):
        raise ValueError(f"DDL-4-96 The gradients cannot be reduced by {op}: use Average, Sum or Adasum.")
    _check_groups(num_groups, groups)
    names = _names(optimizer, named_parameters)
    base = optimizer.__class__
    mixin = _AdasumOptimizer if op is Adasum else _Optimizer
    new = object.__new__(type(base.__name__, (mixin, base), {}))
    new.__dict__.update(optimizer.__dict__)
    new._begin(names, compression, backward_passes_per_step, op, gradient_predivide_factor, sparse_as_dense, process_set)
    return new


def _check_groups(num_groups, groups):
    is_list = isinstance(groups, list)
    if num_groups < 0 or not (is_list or groups is None or (isinstance(groups, int) and groups > 0)):
        raise ValueError("DDL-4-96 groups is a number above 0, or a list of lists of parameters.")
    members = [p for group in groups for p in group] if is_list else []
    if any(not torch.is_tensor(p) for p in members) or len({id(p) for p in members}) < len(members):
        raise ValueError("DDL-4-96 groups are lists of parameters, none of which comes twice.")


def _names(optimizer, named_parameters):
    """The name of each parameter; parameters come in the order of the model, which is that of first use."""
    own = [p for group in optimizer.param_groups for p in group["params"]]
    if named_parameters is None:
        return {p: f"parameter.{i}" for i, p in enumerate(own)}
    pairs = list(named_parameters)
    if any(not isinstance(pair, tuple) for pair in pairs):
        raise ValueError("DDL-4-97 named_parameters are pairs (name, parameter), as model.named_parameters() gives.")
    words = [name for name, _ in pairs]
    twice = {name for name in words if words.count(name) > 1}
    if twice:
        raise ValueError(f"DDL-4-97 Parameter names must be unique; these are not: {', '.join(sorted(twice))}.")
    known = {id(p) for _, p in pairs}
    missing = [i for i, p in enumerate(own) if id(p) not in known]
    if missing:
        raise ValueError(f"DDL-4-97 named_parameters does not name all parameters of the optimizer; missing: {missing}.")
    mine = {id(p) for p in own}
    return {p: name for name, p in pairs if id(p) in mine}


class _Common:
    """What both kinds have."""

    def _begin(self, names, compression, passes, op, predivide, sparse_as_dense, process_set):
        self.process_set, self._compression, self.op = process_set, compression, op
        self.backward_passes_per_step = passes
        self.gradient_predivide_factor = predivide
        self.sparse_as_dense = sparse_as_dense
        self._parameter_names = names
        self._should_synchronize, self._synchronized = True, False
        process_set._id()  # which is an error for one that was not added
        self._is_alone = not process_set.included() or (process_set.size() == 1 and os.environ.get("HOROVOD_ELASTIC") != "1")
        self._number = next(_numbers[process_set.process_set_id]) if process_set.included() else None

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Inside it `step` does not wait for gradients: `synchronize` was called before."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True


class _Optimizer(_Common):
    def _begin(self, *arguments):
        super()._begin(*arguments)
        self._order = [p for p in self._parameter_names if p.requires_grad]
        self._came = []  # in the first step: the order in which gradients come
        self._sparse, self._own_form = {}, {}  # what goes outside of the buckets in this step
        self._are_sparse = set()
        self._sparse_dims = {}  # of gradients that are reduced as dense ones
        self._gradients = None
        if self._is_alone:
            return
        for p in self._order:
            self._watch(p)
        self._plan()

    def _watch(self, p):
        if hasattr(p, "register_post_accumulate_grad_hook"):  # 2.1 on
            p.register_post_accumulate_grad_hook(self._on_gradient)
            return
        node = p.expand_as(p).grad_fn.next_functions[0][0]
        node.register_hook(lambda *_: self._on_gradient(p))
        self._nodes = [*getattr(self, "_nodes", []), node]  # the hook lives as long as its node

    def _uses_buckets(self, p):
        """Own compressors get each gradient; sparse ones are gathered; types that cannot be reduced go by themselves."""
        plain = getattr(self._compression, "codec", "none") != "none" or self._compression is Compression.none
        return plain and p.dtype in _TYPES and p not in self._are_sparse

    def _plan(self):
        """Puts the gradients into library memory, in the order in which they are needed."""
        old = self._gradients
        members = [p for p in self._order if self._uses_buckets(p)]
        codec = getattr(self._compression, "codec", "none")
        if any(p.dtype != torch.float32 for p in members):
            codec = "none"
        self._gradients = _comm.Gradients(
            [(p.numel(), _comm.DType(_TYPES[p.dtype])) for p in members],
            f"gradients.{self._number}.{len(members)}",
            passes=self.backward_passes_per_step,
            op=self.op.op,
            prescale=1.0 / self.gradient_predivide_factor,
            postscale=self.gradient_predivide_factor,
            compression=codec,
            process_set=self.process_set.process_set_id,
        )
        self._index = {p: i for i, p in enumerate(members)}
        self._views = {}
        for p, i in self._index.items():
            view = tensor_at(self._gradients.gradient(i)[0], tuple(p.shape), p.dtype, self._gradients)
            if old is not None and p.grad is not None:
                view.copy_(p.grad)
                p.grad = view
            self._views[p] = view
        self._passes_left = {p: self.backward_passes_per_step for p in self._order}

    def _on_gradient(self, p):
        if self._passes_left[p] <= 0:
            raise AssertionError(
                "DDL-4-98 Gradients were computed more than backward_passes_per_step times before step(): raise "
                "backward_passes_per_step to add them up."
            )
        self._passes_left[p] -= 1
        if self._came is not None and self._passes_left[p] == 0:
            self._came.append(p)
        if p.grad.is_sparse and self.sparse_as_dense:
            self._make_dense(p)
        if p in self._index and not p.grad.is_sparse:
            self._take(p)
            self._gradients.mark_ready(self._index[p])
        elif self._passes_left[p] == 0:
            self._send_by_itself(p)

    def _make_dense(self, p):
        self._sparse_dims[p] = p.grad.sparse_dim()
        p.grad = p.grad.to_dense()

    def _take(self, p):
        """The gradient lies in library memory from here on, wherever autograd has put it."""
        view = self._views[p]
        if p.grad.data_ptr() != view.data_ptr():
            view.copy_(p.grad)
            p.grad = view

    def _send_by_itself(self, p):
        name = f"gradient.{self._number}.{self._parameter_names[p]}"
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        if p.grad.is_sparse:
            self._sparse[p] = sparse_allreduce_async(p.grad, name, self.op, self.process_set)
            if p in self._index:  # from the next step on it has no place in the buckets
                self._views[p].zero_()
                self._gradients.mark_ready(self._index[p])
            return
        packed, ctx = self._compression.compress(p.grad)
        scale = self.gradient_predivide_factor
        handle = allreduce_async_(
            packed.contiguous(), name=name, op=self.op, prescale_factor=1 / scale, postscale_factor=scale, process_set=self.process_set
        )
        self._own_form[p] = (handle, ctx)

    def synchronize(self):
        """Waits until the gradients of all ranks are in those of this one. Parameters that were not used here bring zeros."""
        if self._is_alone:
            self._synchronized = True
            return
        for p in self._order:
            is_sent = p in self._sparse or p in self._own_form or self._passes_left[p] == 0
            if not is_sent and self.sparse_as_dense and p.grad is not None and p.grad.is_sparse:
                self._make_dense(p)  # that of the last step, as there was no pass
            if p in self._index and not is_sent:
                if p.grad is None:
                    self._views[p].zero_()
                    p.grad = self._views[p]
                else:
                    self._take(p)
            elif not is_sent:
                self._send_by_itself(p)
        with as_horovod():
            self._gradients.synchronize()
        for p, finish in self._sparse.items():
            p.grad = finish()
        for p, (handle, ctx) in self._own_form.items():
            p.grad = self._compression.decompress(synchronize(handle), ctx).view_as(p).to(p.dtype)
        self._next_step()
        for p, dim in self._sparse_dims.items():
            p.grad = p.grad.to_sparse(dim)
        self._synchronized = True

    def _next_step(self):
        self._passes_left = {p: self.backward_passes_per_step for p in self._order}
        if self._came is not None:
            self._arrange()
        self._sparse, self._own_form = {}, {}

    def _arrange(self):
        """After the first step: buckets in the order in which gradients came on the first rank, without the sparse ones."""
        place = {p: i for i, p in enumerate(self._order)}
        came = [place[p] for p in self._came] + [i for i, p in enumerate(self._order) if p not in set(self._came)]
        self._came = None
        sparse = [place[p] for p in self._sparse]
        came, sparse = broadcast_object((came, sparse), self.process_set.ranks[0], process_set=self.process_set)
        order = [self._order[i] for i in reversed(came)]
        self._are_sparse = {self._order[i] for i in sparse}
        if any(a is not b for a, b in zip(order, self._order)) or sparse:
            self._order = order
            self._plan()

    def step(self, closure=None):
        """Waits for the gradients of all ranks, then does the optimizer's step."""
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() after optimizer.synchronize(): gradients are "
                    "reduced a second time. Put step() into `with optimizer.skip_synchronize():`.",
                    stacklevel=2,
                )
            self.synchronize()
        self._synchronized = False
        return super().step(closure)

    def zero_grad(self, *args, **kwargs):
        if self._gradients is not None and (self._gradients.is_reducing() or self._own_form):
            raise AssertionError(
                "DDL-4-99 zero_grad() between backward() and step() or synchronize() would change gradients under way."
            )
        return super().zero_grad(*args, **kwargs)

    def set_backward_passes_per_step(self, passes):
        """So many backward passes are added up from now on."""
        self.backward_passes_per_step = passes
        if self._gradients is not None:
            self._gradients.set_passes(passes)
            self._passes_left = {p: passes for p in self._order}

    def load_state_dict(self, *args, **kwargs):
        super().load_state_dict(*args, **kwargs)
        self._synchronized, self._should_synchronize = False, True
        if self._gradients is not None:
            self._passes_left = {p: self.backward_passes_per_step for p in self._order}
            self._gradients.set_passes(self.backward_passes_per_step)


class _AdasumOptimizer(_Common):
    """Every rank makes the step with its own gradients; the changes are combined by adasum."""

    def synchronize(self):
        """Nothing travels before the step."""

    def set_backward_passes_per_step(self, passes):
        """Gradients add up until step() in any case."""
        self.backward_passes_per_step = passes

    def step(self, closure=None):
        """Does the step, then takes the combined change of all ranks."""
        if self._is_alone:
            return super().step(closure)
        parameters = [p for p in self._parameter_names if p.requires_grad]
        before = [p.detach().clone() for p in parameters]
        loss = super().step(closure)
        changes = []
        with torch.no_grad():
            for p, start in zip(parameters, before):
                changes.append((p.detach() - start).contiguous())
            packed = [self._compression.compress(change) for change in changes]
            reduced = grouped_allreduce_(
                [t for t, _ in packed], name=f"changes.{self._number}", op=Adasum, process_set=self.process_set
            )
            for p, start, change, (_, ctx) in zip(parameters, before, reduced, packed):
                p.copy_(start + self._compression.decompress(change, ctx))
        return loss
