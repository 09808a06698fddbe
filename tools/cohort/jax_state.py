"""How the JAX runner holds state: as values that travel through segments, or in external Refs."""
import jax


class Values:
    """State as values: a dictionary of arrays, an argument and a result of every segment."""

    def __init__(self, initial):
        self.arrays = dict(initial)

    def names(self):
        return list(self.arrays)

    def get(self, state):
        return self.arrays[state.base]

    def set(self, state, array):
        self.arrays = {**self.arrays, state.base: array}

    def carried(self):
        return self.arrays

    leave = carried

    def enter(self, arrays):
        self.arrays = arrays

    def handles(self, states):
        return [None for _ in states]

    def passed(self, state, handle):
        return state

    def final(self, name):
        return self.arrays[name]


class Refs:
    """State in Refs that live outside every function: read and written in place, passed by reference."""

    def __init__(self, initial, mode):
        kind = "no_grad_no_remat" if mode == "jax_ref_no_remat" else None
        self.refs = {name: jax.new_ref(array, kind=kind) for name, array in initial.items()}

    def names(self):
        return list(self.refs)

    def ref(self, state):
        return self.refs[state.base] if state.handle is None else state.handle

    def get(self, state):
        return self.ref(state)[...]

    def set(self, state, array):
        self.ref(state)[...] = array

    def carried(self):
        return {}

    leave = carried

    def enter(self, arrays):
        pass

    def handles(self, states):
        return [self.ref(s) for s in states]

    def passed(self, state, handle):
        return type(state)(state.name, state.base, state.index, handle)

    def final(self, name):
        return self.refs[name][...]
