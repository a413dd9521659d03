"""Refusals with a switch: the same code, and each found once."""

import ast

from guards import guards, switched

SOURCE = """
def weighed(x, named=()):
    if x < 0:
        raise InputError("negative")
    elif (half := x / 2) > 4 or \\
            "é" in named:
        note = half
        raise InputError(f"large: {note}")
    if x == 1:
        raise ValueError("another error")
    return half
"""


def test_guards_are_the_ifs_that_refuse():
    assert [ast.unparse(guard.test) for guard in guards(SOURCE)] == [
        "x < 0",
        "(half := (x / 2)) > 4 or 'é' in named",
    ]


def test_a_switch_takes_out_one_guard(monkeypatch):
    text, names = switched(SOURCE, "weighed.py")
    assert sorted(names) == ["weighed.py:3", "weighed.py:5"]
    off = None
    calls = []

    class Switch:
        @staticmethod
        def holds(guard):
            calls.append(guard)
            return guard != off

    monkeypatch.setitem(__import__("sys").modules, "guard_switch", Switch)
    space: dict = {"InputError": KeyError}
    exec(compile(text, "weighed.py", "exec"), space)

    def refused(x):
        try:
            return space["weighed"](x) is None
        except KeyError:
            return True

    assert [refused(x) for x in (-1, 2, 10)] == [True, False, True]
    assert calls == ["weighed.py:3", "weighed.py:5"]
    off = "weighed.py:5"
    assert [refused(x) for x in (-1, 2, 10)] == [True, False, False]
