"""Refusals that scripts/fuzz.py found wanting."""

import pytest


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("selftest", "--only", "two\nlines"), r"two\nlines"),
        (("selftest", "--only", "\x1b[31mred"), r"\x1b[31mred"),
        (("models", "--seed", "a\nb"), r"a\nb"),
        (("selftest", "--level", "\udcff"), r"\udcff"),
    ],
)
def test_what_is_quoted_stays_on_the_line(bracketz, words, shown):
    """A name with a line break or an escape sequence in it is shown, not obeyed."""
    code, out, err = bracketz(*words)
    assert code == 2 and not out
    assert err.startswith("error: ") and err.count("\n") == 1 and err.endswith("\n")
    assert shown in err and "\x1b" not in err


def test_compare_refuses_data_of_a_stan_program_where_there_is_none(bracketz, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    code, _, err = bracketz("compare", "clustering", "--data", "t.csv", "--stan-data", "no.json")
    assert code == 2
    assert err == "error: --stan-data is for Stan programs, and clustering is none; leave it out\n"
