"""Runs conformance programs on JAX, as a user of JAX would write them.

A segment is a function under jax.checkpoint. Counters, logs, branches and contexts are host code that runs when the
function is traced. The state (buffers, bytes of params that are written) is held in one of three ways:
  jax_values        as values: a segment takes it as arguments and returns it
  jax_ref           in external Refs of the default kind, read and written in place
  jax_ref_no_remat  in external Refs of kind "no_grad_no_remat"
Main is cut at each `backward` into stages; a stage is one jax.vjp, and a backward calls the pullbacks it needs.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from jax_ops import OPS, as_array
from jax_state import Refs, Values
from language import Frame, HostStatements, Unsupported, block_index, count_of, draw, mentioned, statements

MODES = ["jax_values", "jax_ref", "jax_ref_no_remat"]


class Value:
    """What a name stands for; a write in place gives it another array."""

    def __init__(self, array):
        self.array = array
        self.touched = False  # since the stage began


class Cell:
    def __init__(self, name):
        self.name = name


class State:
    """A buffer, view or param by name, `base` the object that holds its bytes."""

    def __init__(self, name, base, index=None, handle=None):
        self.name, self.base, self.index, self.handle = name, base, index, handle


class Stage:
    """Main between two backwards: its pullback, and where each of its inputs and outputs lives."""

    def __init__(self, pullback, inputs, outputs):
        self.pullback, self.inputs, self.outputs = pullback, inputs, outputs


class Machine(HostStatements):
    def __init__(self, program, mode):
        self.p = program
        if program.get("expect", {}).get("error"):
            raise Unsupported("an index that is traced cannot be checked")
        self.dtype = jnp.float64 if program.get("dtype") == "f64" else jnp.float32
        self.named, self.leaves = {}, {}
        initial = {}
        written = {s.get("to") for s in statements(program)}
        for name, spec in program.get("inputs", {}).items():
            array = self.tensor(spec)
            if spec["kind"] != "frozen":
                self.leaves[name] = array
            if spec["kind"] == "param" and written & self.aliases(name):
                initial[name] = array
                self.named[name] = State(name, name)
            elif spec["kind"] == "frozen":
                self.named[name] = Value(array)
        for name, spec in program.get("buffers", {}).items():
            initial[name] = self.tensor(spec)
            self.named[name] = State(name, name)
        for name, spec in program.get("views", {}).items():
            index = np.arange(count_of(initial[spec["of"]].shape))
            self.named[name] = State(name, spec["of"], self.static_index(index, spec["region"]))
        self.state = Values(initial) if mode == "jax_values" else Refs(initial, mode)
        self.cells = {}
        for name, spec in program.get("cells", {}).items():
            self.cells[name] = self.tensor(spec) if isinstance(spec, dict) else list(spec) if isinstance(spec, list) else spec
        self.contexts = dict(program.get("contexts", {}))
        self.positions = {name: 0 for name in program.get("streams", {})}
        self.grads = {name: np.zeros(a.shape, a.dtype) for name, a in self.leaves.items()}
        self.leaf_values, self.in_segment, self.on_grads, self.stages, self.reached = {}, False, [], [], set()

    def aliases(self, name):
        """The names under which segments may write an input: its own, and those of arguments it is passed as."""
        names = {name}
        for s in [s for s in statements(self.p) if s["do"] == "call"]:
            names |= {a for a, given in zip(self.p["segments"][s["seg"]]["args"], s["in"]) if given in names}
        return names

    def tensor(self, spec):
        return jnp.asarray(np.array(spec["data"]).reshape(spec["shape"]), jnp.int64 if spec.get("dtype") == "i64" else self.dtype)

    @staticmethod
    def static_index(index, region):
        if "span" in region:
            return index.reshape(-1)[slice(*region["span"])]
        return index.reshape(-1)[np.array(block_index(region["block"]))].reshape(region["block"]["shape"])

    # Names, operands, regions.

    def resolve(self, frame, name):
        found = frame.find(name)
        if found is not None:
            return found
        if name in self.named:
            return self.named[name]
        if name in self.leaves:
            return ("leaf", name)
        if name in self.cells:
            return Cell(name)
        raise KeyError(name)

    def bytes_of(self, state):
        whole = self.state.get(state)
        return whole if state.index is None else whole.reshape(-1)[state.index]

    def operand(self, frame, what):
        return what if isinstance(what, (int, float)) else self.array_of(self.resolve(frame, what))

    def array_of(self, found):
        if isinstance(found, Value):
            found.touched = True
            return found.array
        if isinstance(found, tuple):
            self.reached.add(found[1])
            return self.leaf_values.get(found[1], self.leaves[found[1]])
        if isinstance(found, Cell):
            return self.cells[found.name]
        array = self.bytes_of(found)
        if found.name in self.leaves:  # a param that was or will be written: its present bytes, the leaf's gradient
            self.reached.add(found.name)
            leaf = self.leaf_values.get(found.name, self.leaves[found.name])
            array = lax.stop_gradient(array) + (leaf - lax.stop_gradient(leaf))
        return array

    def index_of(self, frame, shape, region):
        """Flat indices of a region of an array of this shape; None: all of it."""
        if region is None:
            return None
        index = np.arange(count_of(shape)).reshape(shape)
        if "rows" not in region:
            return self.static_index(index, region)
        rows = region["rows"]
        rows = np.array(rows) if isinstance(rows, list) else as_array(self, self.operand(frame, rows)).astype(jnp.int64)
        rows = rows.reshape(-1) % shape[0] if region.get("wrap") else rows.reshape(-1)
        return jnp.asarray(index)[rows]

    # Statements.

    def body(self, frame, statements, keep=()):
        for s in statements:
            rule = STATEMENTS.get(s["do"])
            if rule:
                rule(self, frame, s)
            else:
                array = OPS[s["do"]](self, [self.operand(frame, w) for w in s["in"]], s)
                frame.names[s["out"]] = Value(checkpoint_name(array, "kept") if s["out"] in keep else array)

    def read(self, frame, s):
        found = self.resolve(frame, s["of"])
        array = as_array(self, self.bytes_of(found) if isinstance(found, State) else self.array_of(found))
        at = self.index_of(frame, array.shape, s.get("region"))
        frame.names[s["out"]] = Value(lax.stop_gradient(array if at is None else array.reshape(-1)[at]))

    def write(self, frame, s):
        if s.get("foreign"):
            raise Unsupported("arrays cannot be written behind the framework's back")
        target, value = self.resolve(frame, s["to"]), self.operand(frame, s["value"])
        array = self.bytes_of(target) if isinstance(target, State) else self.array_of(target)
        value = as_array(self, value) if not isinstance(target, State) else lax.stop_gradient(as_array(self, value))
        at = self.index_of(frame, array.shape, s.get("region"))
        mode = s.get("mode", "assign")
        part = array if at is None else array.reshape(-1)[at]
        value = value.astype(array.dtype)
        value = {"assign": lambda: jnp.broadcast_to(value, part.shape), "add": lambda: part + value,
                 "mul": lambda: part * value}[mode]()
        new = value if at is None else array.reshape(-1).at[at].set(value).reshape(array.shape)
        if isinstance(target, Value):
            target.array = new
        elif target.index is None:
            self.state.set(target, new)
        else:
            whole = self.state.get(target)
            self.state.set(target, whole.reshape(-1).at[target.index].set(new).reshape(whole.shape))

    def draw(self, frame, s):
        count, name = count_of(s["shape"]), s["stream"]
        numbers = draw(self.p["streams"][name], self.positions[name], count)
        self.positions[name] += count
        frame.names[s["out"]] = Value(jnp.asarray(np.array(numbers).reshape(s["shape"]), self.dtype))

    def number(self, what):
        return self.cells[what] if isinstance(what, str) else what

    def set(self, frame, s):
        if isinstance(self.cells[s["cell"]], (int, float)):
            self.cells[s["cell"]] = self.number(s["value"])
        else:
            self.cells[s["cell"]] = lax.stop_gradient(as_array(self, self.operand(frame, s["value"])))

    def context(self, frame, s):
        frame.names[s["out"]] = Value(jnp.asarray(float(self.contexts[s["key"]]), self.dtype))

    def runs_twice(self, frame, s):
        raise Unsupported(f"{s['do']}: how often a node has run cannot be seen from a traced function")

    # Segments and differentiation.

    def call(self, frame, s):
        segment = self.p["segments"][s["seg"]]
        given = [self.resolve(frame, w) if isinstance(w, str) else w for w in s["in"]]
        at_main = frame is self.main
        outer = dict(frame.names) if at_main else frame.outer
        seen = [v for v in {id(v): v for v in [*outer.values(), *given] if isinstance(v, Value)}.values()]
        values = [g for g in given if isinstance(g, Value)]
        states = [g for g in given if isinstance(g, State)]
        was_inside, shape_of = self.in_segment, {}

        def run(arrays, handles, state):
            before, self.in_segment = [v.array for v in seen], True
            self.state.enter(state)
            for value, array in zip(values, arrays):
                value.array = array
            entered = [v.array for v in seen]
            passed = iter(handles)
            names = [self.state.passed(g, next(passed)) if isinstance(g, State) else g for g in given]
            inner = Frame(dict(zip(segment["args"], names)), outer, frame.instance)
            self.body(inner, segment["body"], segment.get("keep", ()))
            outs = [inner.names[name] for name in segment["out"]]
            shape_of["same"] = [next((i for i, v in enumerate(seen) if v is out), None) for out in outs]
            shape_of["moved"] = [i for i, v in enumerate(seen) if v.array is not entered[i]]
            result = ([o.array for o in outs], [seen[i].array for i in shape_of["moved"]], self.state.leave(),
                      {n: c for n, c in self.cells.items() if not isinstance(c, (int, float, list))})
            for value, array in zip(seen, before):
                value.array = array
            self.in_segment = was_inside
            return result

        for value in values:
            value.touched = True
        policy = jax.checkpoint_policies.save_only_these_names("kept") if segment.get("keep") else None
        outs, moved, state, cells = jax.checkpoint(run, policy=policy)(
            [v.array for v in values], self.state.handles(states), self.state.carried())
        self.state.enter(state)
        self.cells |= cells
        for i, array in zip(shape_of["moved"], moved):
            seen[i].array = array
        for name, array, same in zip(s["out"], outs, shape_of["same"]):
            frame.names[name] = Value(array) if same is None else seen[same]

    def hook(self, frame, s):
        if self.in_segment:
            raise Unsupported("a hook in a segment: its effect would be part of a traced backward")
        inside = frame.copy()

        @jax.custom_vjp
        def identity(x):
            return x

        def backward(_, gradient):
            # A pullback wants a cotangent for every output of its stage. Zeros stand for those that this backward
            # does not start from, and what only they reach is not passed through.
            if np.any(np.asarray(gradient)):
                self.body(inside.copy(), s["body"])
            return (gradient,)

        identity.defvjp(lambda x: (x, None), backward)
        frame.names[s["out"]] = Value(identity(as_array(self, self.operand(frame, s["in"][0]))))

    def on_grad(self, frame, s):
        self.on_grads.append((s["of"], frame.copy(), s["body"]))

    def grad(self, frame, s):
        frame.names[s["out"]] = Value(jnp.asarray(self.grads[s["of"]]))
        if s.get("clear"):
            self.grads[s["of"]] = np.zeros_like(self.grads[s["of"]])

    # Main: a stage is everything up to a backward, differentiated with respect to the leaves and earlier values.

    def run(self):
        self.main = Frame({}, {}, None)
        todo = list(self.p["main"])
        while todo:
            end = next((i for i, s in enumerate(todo) if s["do"] == "backward"), len(todo))
            self.forward(todo[:end], mentioned(todo[end:], self.p))
            if end < len(todo):
                self.backward(todo[end])
            todo = todo[end + 1:]
        return self.result()

    def differentiable(self):
        return [v for v in {id(v): v for v in self.main.names.values()}.values()
                if isinstance(v, Value) and jnp.issubdtype(v.array.dtype, jnp.floating)]

    def forward(self, statements, needed):
        inputs = self.differentiable() if self.stages else []
        came_in = [v.array for v in inputs]

        def run(leaves, arrays):
            self.leaf_values = leaves
            for value, array in zip(inputs, arrays):
                value.array, value.touched = array, False
            self.body(self.main, statements)
            made = {id(v): v for n, v in self.main.names.items() if n in needed and isinstance(v, Value)}
            passing = {id(v) for v in inputs if not v.touched}  # an earlier stage answers for these
            outputs = [v for v in made.values() if jnp.issubdtype(v.array.dtype, jnp.floating) and id(v) not in passing]
            return [v.array for v in outputs], (outputs, self.state.carried(), self.cells)

        arrays, pullback, (outputs, state, cells) = vjp_with_aux(run, self.leaves, came_in)
        self.state.enter(state)
        self.cells = cells
        for value, array in zip(outputs, arrays):
            value.array = array
        self.leaf_values = {}
        for value, array in zip(inputs, came_in):
            if isinstance(value.array, jax.core.Tracer):
                value.array = array
        # What nothing mentions any more was not handed out: it is a tracer of a trace that has ended.
        self.main.names = {n: v for n, v in self.main.names.items() if not isinstance(v.array, jax.core.Tracer)}
        self.stages.append(Stage(pullback, [v if v.touched else None for v in inputs], outputs))

    def backward(self, s):
        owed = {}
        for name in s["of"]:
            root = self.main.names[name]
            owed[id(root)] = owed.get(id(root), 0) + jnp.ones_like(root.array)
        for stage in reversed(self.stages):
            if not any(id(v) in owed for v in stage.outputs):
                continue
            leaves, arrays = stage.pullback([owed.pop(id(v), None) if id(v) in owed else jnp.zeros_like(v.array)
                                             for v in stage.outputs])
            for name, gradient in leaves.items():
                self.grads[name] = self.grads[name] + np.asarray(gradient)
            for value, gradient in [(v, a) for v, a in zip(stage.inputs, arrays) if v is not None]:
                owed[id(value)] = owed.get(id(value), 0) + gradient
        for leaf, frame, body in self.on_grads:
            if leaf in self.reached:
                self.body(frame.copy(), body)

    def result(self):
        params = [n for n, spec in self.p.get("inputs", {}).items() if spec["kind"] == "param"]
        held = {n: self.state.final(n) for n in self.state.names()}
        return {"grads": {n: to_json(g) for n, g in self.grads.items()},
                "buffers": {n: to_json(held.get(n, self.leaves.get(n))) for n in [*self.p.get("buffers", {}), *params]},
                "streams": dict(self.positions),
                "cells": {n: c if isinstance(c, (int, float, list)) else to_json(c) for n, c in self.cells.items()}}


STATEMENTS = {
    "read": Machine.read, "write": Machine.write, "draw": Machine.draw, "set": Machine.set, "bump": Machine.bump,
    "append": Machine.append, "if": Machine.choose, "with": Machine.within, "context": Machine.context,
    "call": Machine.call, "hook": Machine.hook, "on_grad": Machine.on_grad, "grad": Machine.grad,
    "unsteady": Machine.runs_twice, "fail": Machine.runs_twice,
}


def vjp_with_aux(run, leaves, arrays):
    """jax.vjp whose function also hands out host objects; arrays among them come back concrete."""
    kept = {}

    def function(leaves, arrays):
        outputs, (objects, state, cells) = run(leaves, arrays)
        kept["objects"] = objects
        kept["host"] = {n: c for n, c in cells.items() if isinstance(c, (int, float, list))}
        return outputs, (state, {n: c for n, c in cells.items() if n not in kept["host"]})

    outputs, pullback, (state, cells) = jax.vjp(function, leaves, arrays, has_aux=True)
    return outputs, pullback, (kept["objects"], state, {**kept["host"], **cells})


def to_json(array):
    array = np.asarray(array)
    out = {"shape": list(array.shape), "data": array.reshape(-1).tolist()}
    return out | {"dtype": "i64"} if array.dtype.kind == "i" else out


def prepare():
    jax.config.update("jax_enable_x64", True)


def run(program, mode):
    return Machine(program, mode).run()
