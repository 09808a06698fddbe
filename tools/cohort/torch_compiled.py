"""The PyTorch runner under torch.compile: a program becomes Python source, as somebody would have written it by hand.

Main between two `backward`s is one function, compiled as a whole; a segment is a function that it calls through
torch.utils.checkpoint (non-reentrant). Modes: torch_compiled (backend aot_eager), torch_inductor (backend inductor). What
cannot be traced falls back to eager where PyTorch says so; the record's `graphs` counts what was compiled.
"""
import torch
from torch._dynamo.utils import counters
from torch.utils import checkpoint as ckpt

from language import Frame, InjectedFailure, Instance
from torch_ops import OPS, as_tensor
from torch_runner import Machine

BACKENDS = {"torch_compiled": "aot_eager", "torch_inductor": "inductor"}
EAGER = ("backward", "grad", "on_grad")


class Scope:
    """Names of one generated function: name -> (Python expression, kind), kind of value, state, cell."""

    def __init__(self, names, prefix):
        self.names, self.prefix = dict(names), prefix

    def bind(self, name):
        variable = f"{self.prefix}_{name}"
        self.names[name] = (variable, "value")
        return variable


class Writer:
    def __init__(self, program):
        self.p, self.functions, self.constants, self.count = program, [], {}, 0

    def fresh(self):
        self.count += 1
        return self.count

    def constant(self, value):
        name = f"K{self.fresh()}"
        self.constants[name] = value
        return name

    def declared(self, name):
        if name in self.p.get("cells", {}):
            return f"m.cells[{name!r}]", "cell"
        return f"m.tensors[{name!r}]", "state"

    def find(self, scope, name):
        return scope.names.get(name) or self.declared(name)

    def expression(self, scope, what):
        return repr(what) if isinstance(what, (int, float)) else self.find(scope, what)[0]

    def region(self, scope, region):
        if region is None:
            return "None"
        if isinstance(region.get("rows"), str):
            return f"{{'rows': {self.find(scope, region['rows'])[0]}, 'wrap': {bool(region.get('wrap'))}}}"
        return self.constant(region)

    def body(self, scope, statements, pad):
        lines = []
        for s in statements:
            rule = getattr(self, "do_" + s["do"], None)
            if rule:
                lines += [pad + line for line in rule(scope, s)]
                continue
            operands = ", ".join(self.expression(scope, w) for w in s["in"])
            attributes = self.constant({k: v for k, v in s.items() if k not in ("in", "out", "do")})
            lines.append(f"{pad}{scope.bind(s['out'])} = OPS[{s['do']!r}](m, [{operands}], {attributes})")
        return lines or [pad + "pass"]

    def do_read(self, scope, s):
        source, kind = self.find(scope, s["of"])
        source = f"as_tensor(m, {source})" if kind == "cell" else source
        region = self.region(scope, s.get("region"))
        return [f"{scope.bind(s['out'])} = m.copy_of({source}, {region})"]

    def do_write(self, scope, s):
        target, kind = self.find(scope, s["to"])
        call = f"{target}, {self.expression(scope, s['value'])}, {s.get('mode', 'assign')!r}, {self.region(scope, s.get('region'))}"
        if kind == "state":
            return [f"m.write_state(None, {call}, {bool(s.get('foreign'))})"]
        return [f"m.write_into(None, {call})"]

    def do_draw(self, scope, s):
        return [f"{scope.bind(s['out'])} = m.next_numbers({s['stream']!r}, {s['shape']})"]

    def number(self, what):
        return f"m.cells[{what!r}]" if isinstance(what, str) else repr(what)

    def do_set(self, scope, s):
        if isinstance(self.p["cells"][s["cell"]], dict):
            return [f"m.cells[{s['cell']!r}] = as_tensor(m, {self.expression(scope, s['value'])}).detach().clone()"]
        return [f"m.cells[{s['cell']!r}] = {self.number(s['value'])}"]

    def do_bump(self, scope, s):
        return [f"m.cells[{s['cell']!r}] += {s['by']!r}"]

    def do_append(self, scope, s):
        value = s["value"]
        known = isinstance(value, str) and value in self.p["cells"]
        return [f"m.cells[{s['cell']!r}].append({self.number(value) if known else repr(value)})"]

    def do_if(self, scope, s):
        kind, *numbers = s["test"]
        n = [self.number(x) for x in numbers]
        test = f"{n[0]} == {n[1]}" if kind == "eq" else f"{n[0]} < {n[1]}" if kind == "lt" else f"{n[0]} % {n[1]} == {n[2]}"
        return [f"if {test}:", *self.body(scope, s.get("then", []), "    "), "else:", *self.body(scope, s.get("else", []), "    ")]

    def do_with(self, scope, s):
        old = f"old_{self.fresh()}"
        key = repr(s["key"])
        return [f"{old} = m.contexts[{key}]", f"m.contexts[{key}] = {s['value']!r}", *self.body(scope, s["body"], ""),
                f"m.contexts[{key}] = {old}"]

    def do_context(self, scope, s):
        return [f"{scope.bind(s['out'])} = torch.tensor(float(m.contexts[{s['key']!r}]), dtype=m.dtype)"]

    def do_unsteady(self, scope, s):
        first, second = (self.expression(scope, w) for w in s["in"])
        return [f"{scope.bind(s['out'])} = {first} + runs(instance, {self.fresh()}) * {second}"]

    def do_fail(self, scope, s):
        node = self.fresh()
        source = self.expression(scope, s["in"][0])
        return [f"fail_once(instance, {node}, runs(instance, {node}))", f"{scope.bind(s['out'])} = {source}.clone()"]

    def do_hook(self, scope, s):
        name = f"hook_{self.fresh()}"
        source = self.expression(scope, s["in"][0])
        inside = Scope(scope.names, name)
        lines = [f"def {name}(gradient):", *self.body(inside, s["body"], "    ")]
        out = scope.bind(s["out"])
        return [*lines, f"{out} = {source}.clone()", f"if {out}.requires_grad: {out}.register_hook({name})"]

    def do_call(self, scope, s):
        """A function for each place of call, so that every name in it is known for what it is."""
        segment, name = self.p["segments"][s["seg"]], f"segment_{self.fresh()}"
        at_main = scope.prefix == "main"
        outer = {n: v for n, v in scope.names.items() if v[1] == "value"} if at_main else scope.outer
        inner = Scope({}, f"s{self.count}")
        inner.outer = {n: (f"outer_{n}", "value") for n in outer}
        inner.names |= inner.outer
        passed, parameters = [], []
        for argument, given in zip(segment["args"], s["in"]):
            expression, kind = (repr(given), "value") if not isinstance(given, str) else self.find(scope, given)
            if kind == "cell":
                inner.names[argument] = (expression, kind)
                continue
            parameters.append(f"{inner.prefix}_{argument}")
            passed.append(expression)
            inner.names[argument] = (parameters[-1], kind)
        parameters += [f"outer_{n}" for n in outer]
        passed += [outer[n][0] for n in outer] if at_main else [f"outer_{n}" for n in outer]
        lines = self.body(inner, segment["body"], "    ")
        outs = ", ".join(inner.names[o][0] for o in segment["out"])
        counted = [f"    m.count_run(instance, {s['seg']!r}, {self.fresh()})"] if self.p.get("expect", {}).get("max_replays") else []
        self.functions.append("\n".join([f"def {name}(instance, {', '.join(parameters)}):", *counted, *lines, f"    return ({outs},)"]))
        start = ["instance = Instance()"] if at_main and self.counts() else ["instance = None"] if at_main else []
        targets = ", ".join(scope.bind(o) for o in s["out"])
        return [*start, f"{targets}, = checkpoint({name}, instance, {', '.join(passed)}, use_reentrant=False)"]

    def counts(self):
        text = str(self.p["segments"]) + str(self.p["main"])
        return "'unsteady'" in text or "'fail'" in text or bool(self.p.get("expect", {}).get("max_replays"))

    def stage(self, name, bound, statements):
        """Main between two backwards: (source of all functions, names it leaves)."""
        scope = Scope({n: (f"main_{n}", "value") for n in bound}, "main")
        self.functions = []
        lines = self.body(scope, statements, "    ")
        left = [n for n, v in scope.names.items() if v[1] == "value"]
        head = f"def {name}({', '.join(f'main_{n}' for n in bound)}):"
        give = "    return (" + "".join(f"main_{n}, " for n in left) + ")"
        return "\n\n".join([*self.functions, "\n".join([head, "    instance = None", *lines, give])]), left


class CompiledMachine(Machine):
    def run(self):
        self.main = Frame({}, {}, Instance())
        writer, todo, at = Writer(self.p), list(self.p["main"]), 0
        while todo:
            end = next((i for i, s in enumerate(todo) if s["do"] in EAGER), len(todo))
            if end:
                self.forward(writer, f"stage_{at}", todo[:end])
            self.body(self.main, todo[end:end + 1])
            todo, at = todo[end + 1:], at + 1
        return {**self.result(), "graphs": counters["stats"]["unique_graphs"]}

    def forward(self, writer, name, statements):
        bound = list(self.main.names)
        source, left = writer.stage(name, bound, statements)
        space = {"m": self, "OPS": OPS, "torch": torch, "as_tensor": as_tensor, "checkpoint": ckpt.checkpoint,
                 "Instance": Instance, "runs": runs, "fail_once": fail_once, **writer.constants}
        exec(compile(source, f"<{self.p['name']}:{name}>", "exec"), space)
        stage = torch.compile(space[name], backend=BACKENDS[self.mode])
        self.main.names = dict(zip(left, stage(*[self.main.names[n] for n in bound])))

    def count_run(self, instance, segment, place):
        runs_now = instance.segments[place] = instance.segments.get(place, -1) + 1
        self.replays[segment] = max(self.replays.get(segment, 0), runs_now)


def runs(instance, node):
    instance.nodes[node] = instance.nodes.get(node, -1) + 1
    return instance.nodes[node]


def fail_once(instance, node, k):
    if k == 1 and node not in instance.failed:
        instance.failed.add(node)
        raise InjectedFailure("injected failure")


def run(program, mode):
    torch._dynamo.reset()
    counters.clear()
    return CompiledMachine(program, mode).run()
