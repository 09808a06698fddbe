"""What a generated program of each class is made of: steps that it must contain, and patterns of main.

`around` names statements of main: before, between and after the calls, and at the end, before `backward`.
"""
from typing import NamedTuple


class Recipe(NamedTuple):
    steps: tuple          # at least one of these in every segment
    main: tuple = ()      # patterns of main: see generator.py
    share: float = 1.0    # how often in the drawing of a class
    fillers: tuple = ("act", "norm", "dense", "choose")


CLASSES = {
    "C01": Recipe(("read_mul", "live_mul"), ("write_after",)),
    "C02": Recipe(("argument_state",), ("write_after", "arguments")),
    "C03": Recipe(("ring", "span", "block", "topk_rows", "gather_state")),
    "C04": Recipe(("ema", "count", "statistics")),
    "C05": Recipe(("statistics",), ("twice",)),
    "C06": Recipe(("write_state",), ("two_writers",)),
    "C07": Recipe(("read_mul", "ema", "block"), ("many_calls",)),
    "C10": Recipe(("grow", "cell"), ("many_calls",)),
    "C11": Recipe(("gather_state", "ring"), ("many_calls",)),
    "C12": Recipe(("cell", "memo"), ("set_between",)),
    "C14": Recipe(("argument_state", "span", "block", "live_mul"), ("arguments", "write_after")),
    "C15": Recipe(("live_mul",), ("write_elsewhere",)),
    "C16": Recipe(("read_mul", "live_mul"), ("foreign_after",), 0.5),
    "C17": Recipe(("inplace", "inplace_saved", "value_read")),
    "C19": Recipe(("argument_write", "captured_write", "captured"), ("argument_seen",)),
    "C20": Recipe(("param_write", "param_rows", "dense"), ("step_between", "hook_step")),
    "C21": Recipe(("dropout",), ("draw_between",)),
    "C22": Recipe(("dropout_named", "dropout", "dropout_foreign"), ("draw_between",)),
    "C25": Recipe(("branch",), ("many_calls",)),
    "C26": Recipe(("argmax_gather", "topk_rows", "choose", "unsteady")),
    "C28": Recipe(("rounding", "unsteady")),
    "C29": Recipe(("mode_flag", "dropout"), ("set_between",)),
    "C30": Recipe(("context", "context_inner"), ("within",)),
    "C31": Recipe(("memo",), ("set_between",)),
    "C32": Recipe(("log",), ("log_between",)),
    "C33": Recipe(("count", "statistics"), ("two_iterations",)),
    "C35": Recipe(("inner_hook", "dense"), ("hooks", "on_grad")),
    "C37": Recipe(("captured", "dense"), ("two_outputs",)),
    "C38": Recipe(("read_mul", "ema", "dropout"), ("keep_twice", "write_between_backwards")),
    "C39": Recipe(("ema", "ring", "dropout"), ("two_outputs", "diamond")),
    "C41": Recipe(("inplace", "dense", "inplace_saved"), ("keep",)),
    "C42": Recipe(("read_mul", "live_mul", "ring", "dropout", "inplace"), ("no_segment", "write_after")),
    "C46": Recipe(("failing", "ema", "dropout", "ring"), ("retries", "hooks")),
}

ANYTHING = ("act", "norm", "dense", "read_mul", "live_mul", "write_state", "ema", "ring", "topk_rows", "argmax_gather",
            "gather_state", "span", "block", "inplace", "inplace_saved", "dropout", "dropout_named", "branch", "mode_flag",
            "context", "context_inner", "cell", "grow", "memo", "log", "count", "choose", "rounding", "statistics",
            "captured", "captured_write", "argument_write", "argument_state", "param_write", "param_rows", "inner_hook",
            "value_read", "shapes", "unsteady", "failing")

EVERYWHERE = ("write_after", "write_elsewhere", "arguments", "many_calls", "set_between", "argument_seen", "step_between",
              "hook_step", "draw_between", "within", "log_between", "hooks", "on_grad", "two_outputs", "keep_twice",
              "write_between_backwards", "two_iterations", "keep", "retries", "nested")
