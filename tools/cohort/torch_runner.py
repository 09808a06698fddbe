"""Runs conformance programs on PyTorch, as a user of PyTorch would write them.

Buffers are tensors written in place, an operand hands the op the live buffer, a segment is a call of
torch.utils.checkpoint, and `backward` is left to the engine. Modes:
  torch_eager         no recomputation
  torch_nonreentrant  checkpoint(use_reentrant=False)
  torch_reentrant     checkpoint(use_reentrant=True)
  torch_selective     non-reentrant, saving matmuls and the values that a segment asks to keep
  torch_snapshot      non-reentrant, with all state copied at each call and put back for the replay, by hand
torch_compiled.py runs a program as generated source under torch.compile.
"""
import functools

import torch
from torch.utils import checkpoint as ckpt

from language import Frame, HostStatements, InjectedFailure, Instance, block_index, count_of, draw
from torch_ops import OPS, as_tensor


class Cell:
    def __init__(self, name):
        self.name = name


class State:
    """Named bytes: a write to them is not differentiated, unlike one to a value."""

    def __init__(self, tensor):
        self.tensor = tensor


class Machine(HostStatements):
    def __init__(self, program, mode):
        self.p, self.mode = program, mode
        self.dtype = torch.float64 if program.get("dtype") == "f64" else torch.float32
        torch.set_default_dtype(self.dtype)
        self.keep_now = False
        self.replays = {}
        self.tensors, self.leaves, self.cells = {}, {}, {}
        for name, spec in program.get("inputs", {}).items():
            self.tensors[name] = self.tensor(spec)
            if spec["kind"] != "frozen":
                self.leaves[name] = self.tensors[name].requires_grad_()
        for name, spec in program.get("buffers", {}).items():
            self.tensors[name] = self.tensor(spec)
        for name, spec in program.get("views", {}).items():
            self.tensors[name] = self.region(self.tensors[spec["of"]], spec["region"])
        for name, spec in program.get("cells", {}).items():
            self.cells[name] = self.tensor(spec) if isinstance(spec, dict) else list(spec) if isinstance(spec, list) else spec
        self.contexts = dict(program.get("contexts", {}))
        self.start_streams(program.get("streams", {}))

    def tensor(self, spec):
        kind = torch.int64 if spec.get("dtype") == "i64" else self.dtype
        return torch.tensor(spec["data"], dtype=kind).reshape(spec["shape"])

    # Streams. PyTorch's generators give other numbers, so a generator's seed stands for a position of the stream:
    # what is restored with the generator is restored here, and nothing else.

    def start_streams(self, specs):
        self.positions = [{name: 0 for name, spec in specs.items() if spec.get("kind", "default") == "default"}]
        torch.default_generator.manual_seed(0)
        self.named = {name: torch.Generator().manual_seed(0) for name, spec in specs.items() if spec.get("kind") == "named"}
        self.foreign = {name: 0 for name, spec in specs.items() if spec.get("kind") == "foreign"}

    def position(self, name):
        if name in self.named:
            return self.named[name].initial_seed()
        return self.foreign[name] if name in self.foreign else self.positions[torch.default_generator.initial_seed()][name]

    def move(self, name, position):
        if name in self.named:
            self.named[name].manual_seed(position)
        elif name in self.foreign:
            self.foreign[name] = position
        else:
            self.positions.append({**self.positions[torch.default_generator.initial_seed()], name: position})
            torch.default_generator.manual_seed(len(self.positions) - 1)

    # Names, operands, regions.

    def resolve(self, frame, name):
        found = frame.find(name)
        if found is not None:
            return found
        if name in self.tensors:
            return State(self.tensors[name])
        if name in self.cells:
            return Cell(name)
        raise KeyError(name)

    def operand(self, frame, what):
        if isinstance(what, (int, float)):
            return what
        found = self.resolve(frame, what)
        if isinstance(found, Cell):
            return self.cells[found.name]
        found = found.tensor if isinstance(found, State) else found
        return found.clone() if self.mode == "torch_snapshot" else found

    def rows(self, frame, region, count):
        rows = region["rows"]
        if isinstance(rows, str):
            rows = self.operand(frame, rows)
        index = torch.tensor(rows, dtype=torch.int64) if isinstance(rows, list) else rows
        index = as_tensor(self, index).long().reshape(-1)
        return index % count if region.get("wrap") else index

    def region(self, tensor, region, frame=None):
        """The part of a tensor, aliasing it; rows give a copy."""
        if region is None:
            return tensor
        if "span" in region:
            return tensor.view(-1)[slice(*region["span"])]
        if "block" in region:
            block = region["block"]
            return tensor.as_strided(block["shape"], block["stride"], tensor.storage_offset() + block["offset"])
        return tensor[self.rows(frame, region, tensor.shape[0])]

    # Statements.

    def run(self):
        self.main = Frame({}, {}, Instance())
        self.body(self.main, self.p["main"])
        return self.result()

    def body(self, frame, statements, keep=()):
        for s in statements:
            self.keep_now = s.get("out") in keep if keep else False
            rule = STATEMENTS.get(s["do"])
            if rule:
                rule(self, frame, s)
            else:
                frame.names[s["out"]] = OPS[s["do"]](self, [self.operand(frame, w) for w in s["in"]], s)
        self.keep_now = False

    def read(self, frame, s):
        found = self.resolve(frame, s["of"])
        if not isinstance(found, torch.Tensor):
            found = found.tensor if isinstance(found, State) else as_tensor(self, self.cells[found.name])
        frame.names[s["out"]] = self.copy_of(found, s.get("region"), frame)

    def copy_of(self, tensor, region, frame=None):
        return self.region(tensor.detach(), region, frame).clone()

    def write(self, frame, s):
        target, value, mode = self.resolve(frame, s["to"]), self.operand(frame, s["value"]), s.get("mode", "assign")
        if not isinstance(target, State):
            self.write_into(frame, target, value, mode, s.get("region"))
            return
        self.write_state(frame, target.tensor, value, mode, s.get("region"), s.get("foreign"))

    def write_state(self, frame, tensor, value, mode, region, foreign):
        value = value.detach() if isinstance(value, torch.Tensor) else value
        with torch.no_grad():
            self.write_into(frame, tensor.data if foreign else tensor, value, mode, region)

    def write_into(self, frame, target, value, mode, region):
        value = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=target.dtype)
        if region and "rows" in region:
            index = self.rows(frame, region, target.shape[0])
            if mode != "assign":
                value = target[index] + value if mode == "add" else target[index] * value
            target[index] = value.to(target.dtype)
            return
        part = self.region(target, region)
        if mode == "assign":
            part.copy_(value)
        else:
            part.add_(value) if mode == "add" else part.mul_(value)

    def draw(self, frame, s):
        frame.names[s["out"]] = self.next_numbers(s["stream"], s["shape"])

    def next_numbers(self, name, shape):
        at, count = self.position(name), count_of(shape)
        numbers = draw(self.p["streams"][name], at, count)
        self.move(name, at + count)
        return torch.tensor(numbers, dtype=self.dtype).reshape(shape)

    def number(self, what):
        return self.cells[what] if isinstance(what, str) else what

    def set(self, frame, s):
        if isinstance(self.cells[s["cell"]], torch.Tensor):
            self.cells[s["cell"]] = as_tensor(self, self.operand(frame, s["value"])).detach().clone()
        else:
            self.cells[s["cell"]] = self.number(s["value"])

    def context(self, frame, s):
        frame.names[s["out"]] = torch.tensor(float(self.contexts[s["key"]]), dtype=self.dtype)

    def unsteady(self, frame, s):
        _, k = frame.instance.run_of_node(frame, s)
        a = [self.operand(frame, w) for w in s["in"]]
        frame.names[s["out"]] = a[0] + k * a[1]

    def fail(self, frame, s):
        key, k = frame.instance.run_of_node(frame, s)
        if k == 1 and key not in frame.instance.failed:
            frame.instance.failed.add(key)
            raise InjectedFailure("injected failure")
        frame.names[s["out"]] = self.operand(frame, s["in"][0]).clone()

    # Segments and differentiation.

    def call(self, frame, s):
        segment = self.p["segments"][s["seg"]]
        given = [self.resolve(frame, w) if isinstance(w, str) else w for w in s["in"]]
        at_main = frame is self.main
        outer = dict(frame.names) if at_main else frame.outer
        instance, path = (Instance() if at_main else frame.instance), frame.path + (id(s),)
        if self.mode == "torch_snapshot":  # state is reached by closure: it is put back, not checked
            passing = torch.Tensor
        else:
            passing = (State, torch.Tensor)
        tensors = [g.tensor if isinstance(g, State) else g for g in given if isinstance(g, passing)]

        def run(*passed):
            passed = iter(passed)
            names = [g if not isinstance(g, passing) else State(next(passed)) if isinstance(g, State) else next(passed)
                     for g in given]
            runs = instance.segments[path] = instance.segments.get(path, -1) + 1
            self.replays[s["seg"]] = max(self.replays.get(s["seg"], 0), runs)
            inner = Frame(dict(zip(segment["args"], names)), outer, instance, path)
            self.body(inner, segment["body"], segment.get("keep", ()))
            return tuple(inner.names[name] for name in segment["out"])

        for name, out in zip(s["out"], self.checkpointed(run)(*tensors)):
            frame.names[name] = out

    def checkpointed(self, run):
        if self.mode == "torch_eager":
            return run
        if self.mode == "torch_reentrant":
            return functools.partial(ckpt.checkpoint, run, use_reentrant=True)
        if self.mode == "torch_selective":
            context = functools.partial(ckpt.create_selective_checkpoint_contexts, self.policy)
            return functools.partial(ckpt.checkpoint, run, use_reentrant=False, context_fn=context)
        if self.mode == "torch_snapshot":
            return functools.partial(ckpt.checkpoint, self.put_back(run), use_reentrant=False)
        return functools.partial(ckpt.checkpoint, run, use_reentrant=False)

    def policy(self, ctx, op, *args, **kwargs):
        matmul = op in (torch.ops.aten.mm.default, torch.ops.aten.mv.default, torch.ops.aten.bmm.default)
        return ckpt.CheckpointPolicy.MUST_SAVE if matmul or self.keep_now else ckpt.CheckpointPolicy.PREFER_RECOMPUTE

    def put_back(self, run):
        first = []

        def with_state(*tensors):
            if not first:
                first.append(self.snapshot())
                return run(*tensors)
            now = self.snapshot()
            self.restore(first[0])
            try:
                return run(*tensors)
            finally:
                self.restore(now)
        return with_state

    def snapshot(self):
        cells = {n: list(c) if isinstance(c, list) else c for n, c in self.cells.items()}
        return ({n: t.detach().clone() for n, t in self.tensors.items() if n not in self.p.get("views", {})}, cells,
                dict(self.contexts), {n: self.position(n) for n in self.p.get("streams", {})})

    def restore(self, saved):
        tensors, cells, contexts, streams = saved
        for name, old in tensors.items():
            self.tensors[name].data.copy_(old)
        self.cells = {n: list(c) if isinstance(c, list) else c for n, c in cells.items()}
        self.contexts = dict(contexts)
        for name, position in streams.items():
            self.move(name, position)

    def hook(self, frame, s):
        value = self.operand(frame, s["in"][0]).clone()
        frame.names[s["out"]] = value
        if value.requires_grad:
            inside = frame.copy()
            value.register_hook(lambda gradient: self.body(inside.copy(), s["body"]))

    def on_grad(self, frame, s):
        inside = frame.copy()
        self.leaves[s["of"]].register_post_accumulate_grad_hook(lambda leaf: self.body(inside.copy(), s["body"]))

    def backward(self, frame, s):
        roots = [self.operand(frame, name) for name in s["of"]]
        ones = [torch.ones_like(root) for root in roots]
        for left in range(s.get("retries", 0), -1, -1):
            try:
                return torch.autograd.backward(roots, ones, retain_graph=bool(s.get("keep")))
            except InjectedFailure:
                if not left:
                    raise

    def grad(self, frame, s):
        leaf = self.leaves[s["of"]]
        frame.names[s["out"]] = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad.detach().clone()
        if s.get("clear"):
            leaf.grad = None

    def result(self):
        params = {n for n, spec in self.p.get("inputs", {}).items() if spec["kind"] == "param"}
        return {
            "grads": {n: to_json(torch.zeros_like(t) if t.grad is None else t.grad) for n, t in self.leaves.items()},
            "buffers": {n: to_json(t) for n, t in self.tensors.items() if n in self.p.get("buffers", {}) or n in params},
            "streams": {n: self.position(n) for n in self.p.get("streams", {})},
            "cells": {n: to_json(c) if isinstance(c, torch.Tensor) else c for n, c in self.cells.items()},
            "replays": self.replays}


STATEMENTS = {
    "read": Machine.read, "write": Machine.write, "draw": Machine.draw, "set": Machine.set, "bump": Machine.bump,
    "append": Machine.append, "if": Machine.choose, "with": Machine.within, "context": Machine.context,
    "call": Machine.call, "hook": Machine.hook, "on_grad": Machine.on_grad, "backward": Machine.backward,
    "grad": Machine.grad, "unsteady": Machine.unsteady, "fail": Machine.fail,
}


def to_json(tensor):
    out = {"shape": list(tensor.shape), "data": tensor.detach().reshape(-1).tolist()}
    if tensor.dtype == torch.int64:
        out["dtype"] = "i64"
    return out


def prepare():
    torch.set_num_threads(1)


def run(program, mode):
    if mode in ("torch_compiled", "torch_inductor"):
        import torch_compiled
        return torch_compiled.run(program, mode)
    return Machine(program, mode).run()
