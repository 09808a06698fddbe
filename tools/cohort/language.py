"""What the runners for PyTorch and JAX share: scopes, literals, streams and result lines. The oracle has its own.

A runner is two tables (ops, statements) and one stack of scopes. It fills a Result; verdict.py judges it.
"""
import json


class Unsupported(Exception):
    """The framework has no way to say what the program asks for."""


class InjectedFailure(Exception):
    """Raised by the op `fail` on its second physical run."""


class Frame:
    """One scope of an interpreter: the names of main or of one execution of a segment.

    `outer` holds main's values as bound when the outermost call began. `instance` counts physical runs of nodes and
    segments in one execution of the outermost call; `path` says where in it this scope stands.
    """

    def __init__(self, names, outer, instance, path=()):
        self.names, self.outer, self.instance, self.path = names, outer, instance, path

    def find(self, name):
        return self.names[name] if name in self.names else self.outer.get(name)

    def copy(self):
        return Frame(dict(self.names), self.outer, self.instance, self.path)


class Instance:
    """Physical runs of the nodes and segments of one execution of an outermost call."""

    def __init__(self):
        self.nodes, self.segments = {}, {}
        self.failed = set()

    def run_of_node(self, frame, statement):
        key = (frame.path, id(statement))
        self.nodes[key] = self.nodes.get(key, -1) + 1
        return key, self.nodes[key]


class HostStatements:
    """Statements on host state, alike in every framework. The machine has `cells`, `contexts`, `body` and `number`."""

    def bump(self, frame, s):
        self.cells[s["cell"]] += s["by"]

    def append(self, frame, s):
        value = s["value"]
        self.cells[s["cell"]].append(self.cells[value] if isinstance(value, str) and value in self.cells else value)

    def choose(self, frame, s):
        kind, *numbers = s["test"]
        self.body(frame, s.get("then" if test(kind, [self.number(n) for n in numbers]) else "else", []))

    def within(self, frame, s):
        old = self.contexts[s["key"]]
        self.contexts[s["key"]] = s["value"]
        try:
            self.body(frame, s["body"])
        finally:
            self.contexts[s["key"]] = old


KEYS = {"format", "name", "class", "about", "dtype", "inputs", "buffers", "views", "streams", "cells", "contexts",
        "segments", "main", "expect", "honour_or_reject"}


def load(path):
    with open(path, encoding="utf-8") as file:
        return check(json.load(file), path)


def check(program, where):
    unknown = set(program) - KEYS
    if program.get("format") != "reprise-conformance/1" or unknown:
        raise ValueError(f"{where}: expected a program of format reprise-conformance/1, got keys {sorted(unknown)}")
    return program


def test(kind, numbers):
    if kind == "eq":
        return numbers[0] == numbers[1]
    if kind == "lt":
        return numbers[0] < numbers[1]
    return numbers[0] % numbers[1] == numbers[2]


def count_of(shape):
    count = 1
    for n in shape:
        count *= n
    return count


def block_index(block):
    """Flat elements of a block, in row-major order."""
    index = [block["offset"]]
    for count, stride in zip(block["shape"], block["stride"]):
        index = [at + i * stride for at in index for i in range(count)]
    return index


def philox_words(block, seed, stream):
    mask = 0xFFFFFFFF
    c = [block & mask, block >> 32, stream & mask, stream >> 32]
    k = [seed & mask, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask, (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def draw(spec, position, count):
    """Numbers position .. position+count-1 of a stream."""
    words = {}
    out = []
    for q in range(position, position + count):
        if q // 4 not in words:
            words[q // 4] = philox_words(q // 4, spec["seed"], spec.get("id", 0))
        out.append((words[q // 4][q % 4] >> 8) * 2.0 ** -24)
    return out


def statements(program):
    """All statements of a program, those in bodies too."""
    todo = [*program["main"], *[s for seg in program.get("segments", {}).values() for s in seg["body"]]]
    while todo:
        s = todo.pop()
        yield s
        todo += [*s.get("body", []), *s.get("then", []), *s.get("else", [])]


def mentioned(rest, program):
    """All words in the statements that are still to come, and in the segments: names among them may be needed."""
    words, todo = set(), [rest, program.get("segments", {})]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            words.add(item)
        elif isinstance(item, (list, dict)):
            todo += item if isinstance(item, list) else item.values()
    return words


def on_one_line(error):
    """What an error says, on one line and without its tail."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
