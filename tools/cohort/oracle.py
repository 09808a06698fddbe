"""The oracle: what a conformance program must leave behind, in NumPy alone.

It shares no code with the runners and knows no backward formula. A program is run once in float64; whatever is not
differentiable (bytes read from state, draws, decisions, branches, contexts) is frozen into the trace as a constant.
A gradient is then the complex-step derivative of that trace: each element of each leaf gets an imaginary part of
1e-30, and the imaginary part of the roots' sum is the derivative, exact to rounding.
"""
import json

import numpy as np

from oracle_ops import DIFFERENTIABLE, FROZEN, inplace, philox, tensor, to_json

STEP = 1e-30
SAVES_OUTPUT = ("tanh", "exp", "sqrt", "softmax", "relu")  # whose usual formula wants the result
DECIDES = {"where": 0, "gather": 1}  # the operand through which no gradient passes, so that no body runs for it either


class ProgramError(Exception):
    """The program itself is wrong: an index outside, or a name or key that the language does not have."""


class Val:
    """A value: its numbers now, the trace node that made them (None: a constant), and what it depends on."""

    def __init__(self, array, node=None, deps=frozenset()):
        self.array, self.node, self.deps = array, node, deps
        self.consumed = False  # some op was handed its bytes


class Place:
    """Bytes with a name: flat numbers of a buffer or leaf, and which of them this name shows, in its shape."""

    def __init__(self, data, index, leaf=None):
        self.data, self.index, self.leaf = data, index, leaf


def scalar(number):
    """A number as an operand: of the program's float type, though it be whole."""
    return Val(np.asarray(float(number)))


class Frame:
    """One scope: names of the segment (or main), and main's values as they were when the outermost call began."""

    def __init__(self, names, outer):
        self.names, self.outer = names, outer

    def find(self, name):
        if name in self.names:
            return self.names[name]
        return self.outer.get(name)


class Oracle:
    def __init__(self, program):
        self.p = program
        self.trace = []      # (function, operands, attributes); an operand is a node number or a constant array
        self.reals = []      # the real result of each node
        self.node_deps = []
        self.hooks = {}      # number -> (frame, body)
        self.on_grad = {}    # leaf -> bodies
        self.live_reads = []  # (data, node): places handed to an op live, for `rejectable`
        self.rejectable = False  # a framework that keeps operands by reference may refuse this program
        self.margin = np.inf
        self.places, self.cells = {}, {}
        for name, spec in program.get("inputs", {}).items():
            array = tensor(spec)
            leaf = name if spec["kind"] != "frozen" else None
            self.places[name] = Place(array.reshape(-1).copy(), np.arange(array.size).reshape(array.shape), leaf)
        for name, spec in program.get("buffers", {}).items():
            array = tensor(spec)
            self.places[name] = Place(array.reshape(-1).copy(), np.arange(array.size).reshape(array.shape))
        for name, spec in program.get("views", {}).items():
            base = self.places[spec["of"]]
            self.places[name] = Place(base.data, self.flat_region(base, spec["region"], None))
        for name, spec in program.get("cells", {}).items():
            self.cells[name] = tensor(spec) if isinstance(spec, dict) else list(spec) if isinstance(spec, list) else spec
        self.streams = {name: 0 for name in program.get("streams", {})}
        self.contexts = dict(program.get("contexts", {}))
        self.grads = {name: np.zeros(self.places[name].index.shape) for name, spec in program.get("inputs", {}).items()
                      if spec["kind"] != "frozen"}

    # Names, operands, regions.

    def content(self, cell):
        """What a cell holds as a value; a number, and the numbers of a list, are of the program's float type."""
        held = self.cells[cell]
        return Val(held.copy() if isinstance(held, np.ndarray) else np.array(held, dtype=np.float64))

    def names(self, frame, name):
        return frame.find(name) is not None or name in self.places or name in self.cells

    def resolve(self, frame, name):
        found = frame.find(name)
        if found is not None:
            return found
        if name in self.places:
            return self.places[name]
        if name in self.cells:
            return ("cell", name)
        raise ProgramError(f"unknown name {name}")

    def operand(self, frame, what, live=True):
        if isinstance(what, (int, float)):
            return scalar(what)
        found = self.resolve(frame, what)
        if isinstance(found, Val):
            found.consumed |= live
            return found
        if isinstance(found, tuple):
            return self.content(found[1])
        array = found.data[found.index]
        if live:
            self.live_reads.append(id(found.data))
        if found.leaf is None:
            return Val(array)
        return self.add_node(("leaf", found.leaf), [array], {}, array, frozenset([found.leaf]))

    def add_node(self, function, operands, attributes, real, deps):
        self.trace.append((function, operands, attributes))
        self.reals.append(real)
        self.node_deps.append(deps)
        return Val(real, len(self.trace) - 1, deps)

    def rows(self, frame, region, count):
        rows = region["rows"]
        index = np.array(rows, dtype=np.int64) if isinstance(rows, list) else self.operand(frame, rows).array
        index = np.asarray(index, dtype=np.int64).reshape(-1)
        if region.get("wrap"):
            return index % count
        if ((index < 0) | (index >= count)).any():
            raise ProgramError(f"index outside: {index.tolist()} of {count} rows")
        return index

    def flat_region(self, place, region, frame):
        if region is None:
            return place.index
        if "span" in region:
            lo, hi = region["span"]
            return place.index.reshape(-1)[lo:hi]
        if "block" in region:
            block = region["block"]
            at = np.asarray(block["offset"])
            for count, stride in zip(block["shape"], block["stride"]):
                at = at[..., None] + np.arange(count) * stride
            return place.index.reshape(-1)[at]
        return place.index[self.rows(frame, region, place.index.shape[0])]

    # Statements.

    def run(self):
        self.main = Frame({}, {})
        self.inside = False
        self.body(self.main, self.p["main"])
        return self

    def body(self, frame, statements):
        for s in statements:
            rule = getattr(self, "do_" + s["do"], None)
            if rule:
                rule(frame, s)
            elif s["do"] in DIFFERENTIABLE or s["do"] in FROZEN:
                frame.names[s["out"]] = self.do_op(frame, s)
            else:
                raise ProgramError(f"unknown statement {s['do']}")

    def do_op(self, frame, s):
        operands = [self.operand(frame, w) for w in s["in"]]
        arrays = [o.array for o in operands]
        name = s["do"]
        if name in DECIDES:
            operands[DECIDES[name]] = Val(arrays[DECIDES[name]])
        if name in FROZEN:
            array, margin = FROZEN[name](arrays, s)
            self.margin = min(self.margin, margin)
            return Val(array)
        if name == "gather":
            index = np.asarray(arrays[1])
            if ((index < 0) | (index >= arrays[0].shape[0])).any():
                raise ProgramError("index outside in gather")
        if name == "cast" and s["to"] == "i64":
            return Val(np.trunc(arrays[0]).astype(np.int64))
        real, margin = DIFFERENTIABLE[name](arrays, s)
        self.margin = min(self.margin, margin)
        deps = frozenset().union(*[o.deps for o in operands])
        if not deps:
            return Val(real)
        made = self.add_node(name, [o.array.copy() if o.node is None else o.node for o in operands], s, real, deps)
        made.consumed = name in SAVES_OUTPUT
        return made

    def do_read(self, frame, s):
        of = s["of"]
        found = self.resolve(frame, of) if isinstance(of, str) else scalar(of)
        if isinstance(found, tuple):
            found = self.content(found[1])
        if isinstance(found, Val):
            index = np.arange(found.array.size).reshape(found.array.shape)
            at = self.flat_region(Place(None, index), s.get("region"), frame)
            frame.names[s["out"]] = Val(found.array.reshape(-1)[at].copy())
        else:
            frame.names[s["out"]] = Val(found.data[self.flat_region(found, s.get("region"), frame)].copy())

    def do_write(self, frame, s):
        value = self.operand(frame, s["value"], live=False)
        found = self.resolve(frame, s["to"])
        mode = s.get("mode", "assign")
        if isinstance(found, Val):
            index = np.arange(found.array.size).reshape(found.array.shape)
            at = self.flat_region(Place(None, index), s.get("region"), frame)
            attributes = {"mode": mode, "at": at}
            real, _ = inplace([found.array, value.array], attributes)
            deps = found.deps | value.deps
            old = [v.array.copy() if v.node is None else v.node for v in (found, value)]
            made = self.add_node("inplace", old, attributes, real, deps) if deps else Val(real)
            found.array, found.node, found.deps = made.array, made.node, made.deps
            self.rejectable |= found.consumed
            found.consumed |= mode == "mul"
            return
        if id(found.data) in self.live_reads:
            self.rejectable = True
        at = self.flat_region(found, s.get("region"), frame)
        new = np.broadcast_to(np.asarray(value.array), at.shape)
        if mode == "add":
            new = found.data[at] + new
        elif mode == "mul":
            new = found.data[at] * new
        found.data[at] = new

    def do_draw(self, frame, s):
        spec = self.p["streams"][s["stream"]]
        count = int(np.prod(s["shape"], dtype=np.int64))
        numbers = philox(spec["seed"], spec.get("id", 0), self.streams[s["stream"]], count)
        self.streams[s["stream"]] += count
        frame.names[s["out"]] = Val(numbers.reshape(s["shape"]))

    def cell(self, frame, name):
        """The declared name of a cell, which a segment may know by the name of an argument."""
        found = self.resolve(frame, name)
        if not isinstance(found, tuple):
            raise ProgramError(f"{name} is no cell")
        return found[1]

    def number(self, frame, what):
        if not isinstance(what, str):
            return what
        found = self.resolve(frame, what)
        return self.cells[found[1]] if isinstance(found, tuple) else found.array.item()

    def do_set(self, frame, s):
        cell = self.cell(frame, s["cell"])
        if isinstance(self.cells[cell], np.ndarray):
            self.cells[cell] = np.array(self.operand(frame, s["value"], live=False).array, dtype=np.float64)
        else:
            self.cells[cell] = self.number(frame, s["value"])

    def do_bump(self, frame, s):
        self.cells[self.cell(frame, s["cell"])] += self.number(frame, s["by"])

    def do_append(self, frame, s):
        value = s["value"]
        if isinstance(value, str) and self.names(frame, value):
            found = self.resolve(frame, value)  # a cell goes by the name of an argument too
            if isinstance(found, tuple) and isinstance(self.cells[found[1]], (int, float)):
                value = self.cells[found[1]]
        self.cells[self.cell(frame, s["cell"])].append(value)

    def do_if(self, frame, s):
        kind, *numbers = s["test"]
        n = [self.number(frame, x) for x in numbers]
        yes = n[0] == n[1] if kind == "eq" else n[0] < n[1] if kind == "lt" else n[0] % n[1] == n[2]
        self.body(frame, s.get("then", []) if yes else s.get("else", []))

    def do_with(self, frame, s):
        old = self.contexts[s["key"]]
        self.contexts[s["key"]] = self.number(frame, s["value"])
        self.body(frame, s["body"])
        self.contexts[s["key"]] = old

    def do_context(self, frame, s):
        frame.names[s["out"]] = Val(np.asarray(float(self.contexts[s["key"]])))

    def do_call(self, frame, s):
        segment = self.p["segments"][s["seg"]]
        given = [scalar(w) if isinstance(w, (int, float)) else self.resolve(frame, w) for w in s["in"]]
        outer = dict(self.main.names) if frame is self.main else frame.outer
        inner = Frame(dict(zip(segment["args"], given)), outer)
        self.body(inner, segment["body"])
        for name, out in zip(s["out"], segment["out"]):
            frame.names[name] = self.resolve(inner, out)

    def do_hook(self, frame, s):
        value = self.operand(frame, s["in"][0], live=False)
        if not value.deps:
            frame.names[s["out"]] = Val(value.array.copy())
            return
        number = f"#{len(self.hooks)}"
        self.hooks[number] = (frame, s["body"], len(self.trace))
        frame.names[s["out"]] = self.add_node("stop_through", [value.node], {}, value.array.copy(),
                                              value.deps | {number})

    def do_on_grad(self, frame, s):
        self.on_grad.setdefault(s["of"], []).append((frame, s["body"]))

    def do_backward(self, frame, s):
        roots = [self.operand(frame, name) for name in s["of"]]
        deps = frozenset().union(*[r.deps for r in roots])
        for leaf in self.grads:
            if leaf in deps:
                self.grads[leaf] = self.grads[leaf] + self.derivative(leaf, roots)
        for inside, body in self.bodies_passed(roots, deps):
            self.body(inside, body)

    def bodies_passed(self, roots, deps):
        """What a backward runs on its way, latest trace node first. A body is no scope of its own: it stands in that of
        its statement. A leaf's bodies run as soon as its gradient is complete, at the first op that reads it."""
        reached, todo = set(), [r.node for r in roots if r.node is not None]
        while todo:
            node = todo.pop()
            if node not in reached:
                reached.add(node)
                todo += [o for o in self.trace[node][1] if isinstance(o, int)]
        at = [(node, inside, body) for h, (inside, body, node) in self.hooks.items() if h in deps]
        for leaf, bodies in self.on_grad.items():
            reads = [n for n in reached if self.trace[n][0] == ("leaf", leaf)]
            if reads:
                first = min(reads)
                readers = [n for n in reached if any(isinstance(o, int) and o == first for o in self.trace[n][1])]
                at += [(min(readers, default=first), inside, body) for inside, body in bodies]
        return [(inside, body) for _, inside, body in sorted(at, key=lambda item: -item[0])]

    def do_grad(self, frame, s):
        frame.names[s["out"]] = Val(self.grads[s["of"]].copy())
        if s.get("clear"):
            self.grads[s["of"]] = np.zeros_like(self.grads[s["of"]])

    # Derivatives of the frozen trace.

    def derivative(self, leaf, roots):
        needed, todo = set(), [r.node for r in roots if r.node is not None]
        while todo:
            node = todo.pop()
            if node in needed or leaf not in self.node_deps[node]:
                continue
            needed.add(node)
            todo += [o for o in self.trace[node][1] if isinstance(o, int)]
        order = sorted(needed)
        gradient = np.zeros(self.grads[leaf].size)
        for element in range(gradient.size):
            values = self.evaluate(order, leaf, element, STEP * 1j)
            gradient[element] = sum(values[r.node].imag.sum() for r in roots if r.node in values) / STEP
        return gradient.reshape(self.grads[leaf].shape)

    def evaluate(self, order, leaf, element, step):
        """The nodes of `order` with one element of one leaf moved by `step` at every read of it."""
        values = {}
        for node in order:
            function, operands, attributes = self.trace[node]
            arrays = [values.get(o, self.reals[o]) if isinstance(o, int) else o for o in operands]
            if isinstance(function, tuple):
                moved = np.array(arrays[0], dtype=np.asarray(step).dtype).reshape(-1)  # a scalar's reshape is a copy
                moved[element] += step
                values[node] = moved.reshape(np.shape(arrays[0]))
            else:
                values[node] = DIFFERENTIABLE[function](arrays, attributes)[0]
        return values

    def expect(self):
        buffers = {name: to_json(self.places[name].data.reshape(self.places[name].index.shape))
                   for name in self.p.get("buffers", {})}
        buffers |= {name: to_json(self.places[name].data.reshape(self.places[name].index.shape))
                    for name, spec in self.p.get("inputs", {}).items() if spec["kind"] == "param"}
        return {"grads": {name: to_json(g) for name, g in self.grads.items()}, "buffers": buffers,
                "streams": dict(self.streams),
                "cells": {n: to_json(c) if isinstance(c, np.ndarray) else c for n, c in self.cells.items()}}


def expectation(program):
    """What must hold after `program`; an index outside gives {"error": "program"} besides."""
    oracle = Oracle(program)
    with np.errstate(all="ignore"):
        try:
            oracle.run()
        except ProgramError:
            return {**oracle.expect(), "error": "program"}
    return oracle.expect()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)
