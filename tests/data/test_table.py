"""Tables as people have them: whatever the separator, the same numbers; and nothing becomes data
that is none."""

import itertools
import re

import numpy as np
import pytest

import bracketz as bz
from bracketz.data.cells import number
from bracketz.data.table import read_table

NUMBERS = np.array([[1.5, -2.25, 1e-3], [0.1, 3.0, 12345.678], [7.0, -0.5, 2e20], [0.2, 5.5, 1.0]])


@pytest.fixture
def file(tmp_path):
    """Write a file, and get its path."""

    def write(text, name="t.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def lines(between, names=("a", "b", "c"), decimal=".", quoted=False):
    cells = [[str(v).replace(".", decimal) for v in row] for row in NUMBERS.tolist()]
    rows = ([list(names)] if names else []) + cells
    mark = '"' if quoted else ""
    return "\n".join(between.join(f"{mark}{c}{mark}" for c in row) for row in rows) + "\n"


# Separators, decimal signs, header lines.


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    ("name", "between", "decimal"),
    [
        ("t.csv", ",", "."),
        ("t.csv", ", ", "."),
        ("t.csv", ";", "."),
        ("t.csv", ";", ","),
        ("t.csv", "\t", "."),
        ("t.csv", "  ", "."),
        ("t.tsv", "\t", "."),
        ("t.txt", "\t", "."),
        ("t.txt", "   ", "."),
        ("t.txt", ",", "."),
        ("t.TSV", ";", ","),
    ],
)
def test_every_separator_gives_the_same_numbers(file, name, between, decimal, header):
    names = ("a", "b", "c") if header else ()
    for quoted in (False, True):
        path = file(lines(between, names, decimal, quoted), name)
        np.testing.assert_array_equal(bz.load(path).y, NUMBERS)
        assert read_table(path).names == names


def test_a_decimal_sign_can_be_declared(file):
    path = file("a\tb\n1,5\t2\n3\t4\n", "t.tsv")
    with pytest.raises(bz.InputError, match=r"'a' .* holds '1,5' at row 1.*`decimal=','`"):
        bz.load(path)
    np.testing.assert_array_equal(bz.load(path, decimal=",").y, [[1.5, 2], [3, 4]])
    for text in ('y\n"1,5"\n"2,5"\n', "y\n1,5\n2,5\n"):
        np.testing.assert_array_equal(bz.load(file(text), decimal=",").y, [[1.5], [2.5]])
    np.testing.assert_array_equal(
        bz.load(file('a,b\n"1,5",2\n"2,5",3\n'), decimal=",").y, [[1.5, 2], [2.5, 3]]
    )
    with pytest.raises(bz.InputError, match=r"holds '1.5' at row 1, which is not a number"):
        bz.load(file("a;b\n1.5;2\n3;4\n"), decimal=",")
    for cell in ("1.5", "1.234,5"):
        with pytest.raises(bz.InputError, match=f"holds '{cell}' .* where ',' is the decimal sign"):
            bz.load(file(f"a;b\n{cell};2\n3,5;4\n"))
    with pytest.raises(bz.InputError, match=r"`decimal` must be '\.' or ',', got ';'"):
        bz.load(path, decimal=";")
    with pytest.raises(bz.InputError, match="cannot be decimal signs as well"):
        bz.load(file("a,b\n1,5\n"), decimal=",")
    with pytest.raises(bz.InputError, match="has 1 names, and the rows have 2 values; where comm"):
        bz.load(file("y\n1,5\n2,5\n"))


def test_a_cell_is_a_number_or_it_is_not():
    assert number("-1e-3") == -1e-3 and number("1e5", ",") == 1e5 and number("-1,5e2", ",") == -150
    for cell, decimal in (
        ("1_000", "."),
        ("1,5", "."),
        ("1.234,5", ","),
        ("1,2,3", ","),
        ("", "."),
    ):
        assert number(cell, decimal) is None


def test_plain_numbers_are_read_as_ever(tmp_path):
    """Bit by bit, as numpy.savetxt wrote them, with a header line of its making or none."""
    y = np.random.default_rng(0).normal(size=(20, 4))
    for header, comments in (("", "# "), ("a,b,c,d", ""), ("a,b,c,d", "# ")):
        np.savetxt(
            tmp_path / "y.csv", y, delimiter=",", header=header, comments=comments, fmt="%.17g"
        )
        np.testing.assert_array_equal(bz.load(tmp_path / "y.csv").y, y)
    assert read_table(tmp_path / "y.csv").names == ("a", "b", "c", "d")


def test_what_pandas_writes_is_what_pandas_reads(tmp_path):
    """Every separator, decimal sign and way of quoting, with and without the index."""
    import csv

    import pandas as pd

    frame = pd.DataFrame(
        {
            "a": [1.5, -2.0, np.nan, 4.25],
            "b, c": [1, 2, 3, 5],
            "flag": [True, False, True, True],
            "kind": ["x", 'say "y"', "x", "y, z"],
        }
    )
    ways = itertools.product(",;\t", ".,", (csv.QUOTE_MINIMAL, csv.QUOTE_ALL), (True, False))
    for between, decimal, quoting, index in ways:
        path = tmp_path / "t.csv"
        frame.to_csv(path, sep=between, decimal=decimal, quoting=quoting, index=index)
        if between == "," == decimal:
            assert '"1,5"' in path.read_text()  # pandas puts such numbers into quotes
        table = read_table(path, decimal=decimal)
        back = pd.read_csv(path, sep=between, decimal=decimal)
        assert table.names == (("unnamed",) if index else ()) + tuple(frame.columns)
        names = ["a", "b, c", "flag"]
        np.testing.assert_array_equal(
            table.matrix(names, missing=True), back[names].to_numpy(float)
        )
        codes, words = table.codes("kind")
        assert [words[k] for k in codes] == back["kind"].tolist()


def test_names_without_words(file):
    """pandas numbers columns that have no names."""
    path = file(",0,1\nu,1.5,2\nv,2.5,3\n")
    assert read_table(path).names == ("unnamed", "0", "1")
    np.testing.assert_array_equal(bz.load(path, drop="unnamed").y, [[1.5, 2], [2.5, 3]])
    with pytest.raises(bz.InputError, match="0, 1, as pandas numbers columns, so it may be"):
        bz.load(file("0,1\n1.5,2\n2.5,3\n"))
    np.testing.assert_array_equal(bz.load(file("0,1\n1,0\n")).y, [[0, 1], [1, 0]])
    for text in ("q,2019\n1.5,2\n", "name,2019\nx,2\n"):
        with pytest.raises(bz.InputError, match=r"holds words and numbers \(\w+, 2019\), so it"):
            bz.load(file(text))


def test_header_lines_that_do_not_fit(file):
    path = file('"a" "b"\n"r1" 1.5 2\n"r2" 3 4\n', "t.txt")  # as R writes it
    assert read_table(path).names == ("unnamed", "a", "b")
    for text in ("a,b\n1,2,3,4\n", "a,b,c\n1,2\n", "a,b\n1,5,2\n7,5,2\n"):
        with pytest.raises(bz.InputError, match=r"the header line of .* has \d names, and the row"):
            bz.load(file(text))
    with pytest.raises(bz.InputError, match=r"two columns of .* are called 'a'; rename one"):
        bz.load(file("a,a,b\n1,2,3\n4,5,6\n"), columns="a")
    np.testing.assert_array_equal(bz.load(file("a,b,\n1,2,\n3,4,\n")).y, [[1, 2], [3, 4]])


def test_what_is_no_table(file, tmp_path):
    (tmp_path / "latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.raises(bz.InputError, match=r"not a text file .*save it as \.csv \(UTF-8\)"):
        bz.load(tmp_path / "latin.csv")
    with pytest.raises(bz.InputError, match="has no rows of numbers"):
        bz.load(file("a,b\n"))
    with pytest.raises(bz.InputError, match=r"row 2 of .* has 3 values and the first has 2"):
        bz.load(file("a,b\n1,2\n3,4,5\n"))
    np.save(tmp_path / "y.npy", NUMBERS)
    with pytest.raises(bz.InputError, match=r"are about columns of text, and .*y\.npy is none"):
        bz.load(tmp_path / "y.npy", drop="a")


# An index is no data unless somebody says so.

INDICES = [
    (",a,b\n0,1.5,2\n1,2.5,3\n2,3.5,4\n", "unnamed", "it has no name"),
    ("Unnamed: 0,a,b\n4,1.5,2\n7,2.5,3\n", "Unnamed: 0", "it has no name"),
    ("id,a,b\n17,1.5,2\n4,2.5,3\n", "id", "by its name"),
    ("id,a,b\nA17,1.5,2\nB4,2.5,3\n", "id", "by its name"),
    ("a,Row_ID,b\n1.5,9,2\n2.5,3,3\n", "Row_ID", "by its name"),
    ("rownames,a,b\n17,1.5,2\n4,2.5,3\n", "rownames", "by its name"),
    ("k,a,b\n0,1.5,2\n1,2.5,3\n2,1,1\n", "k", "it counts 0, 1, 2, ..."),
    ("k,a,b\n1,1.5,2\n2,2.5,3\n3,1,1\n", "k", "it counts 1, 2, 3, ..."),
    ("1,1.5,2\n2,2.5,3\n3,1,1\n", "1", "it counts 1, 2, 3, ..."),
    ('"a" "b"\n"1" 1.5 2\n"2" 2.5 3\n"3" 1 1\n', "unnamed", "it has no name"),
]


@pytest.mark.parametrize(("text", "name", "why"), INDICES)
def test_an_index_is_asked_about_and_both_ways_out_work(file, text, name, why):
    path = file(text, "t.txt")
    with pytest.raises(bz.InputError, match=re.escape(f"looks like an index ({why})")) as refused:
        bz.load(path)
    columns = re.search(r"`columns='([^']*)'`", str(refused.value))[1]
    assert f"`drop='{name}'`" in str(refused.value) and name in columns.split(",")
    assert bz.load(path, drop=name).y.shape[1] == 2
    if "A17" not in text:
        assert bz.load(path, columns=columns).y.shape[1] == 3


@pytest.mark.parametrize(
    "text", ["y\n1\n2\n3\n", "a,b\n1,2\n2,3\n", "a,b\n2,1\n3,1\n4,1\n", "a,k\n5,0\n3,1\n2,2\n"]
)
def test_not_everything_is_an_index(file, text):
    """One column; two rows; counting from 2; counting in another column than the first."""
    assert bz.load(file(text)).y.size


# Columns by name.


def test_columns_are_chosen_by_name(file):
    path = file("a,b,c\n1.5,2,3\n4,5,6\n")
    np.testing.assert_array_equal(bz.load(path, columns="c,a").y, [[3, 1.5], [6, 4]])
    np.testing.assert_array_equal(bz.load(path, columns=["b"]).y, [[2], [5]])
    np.testing.assert_array_equal(bz.load(path, drop=["a", "c"]).y, [[2], [5]])
    comma = file('"height, cm";w\n1,5;2\n4,5;5\n')
    np.testing.assert_array_equal(bz.load(comma, drop="height, cm").y, [[2], [5]])
    bare = file("1.5,2,3\n4,5,6\n")
    np.testing.assert_array_equal(bz.load(bare, drop="1,3").y, [[2], [5]])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"columns": "a,d"}, "unknown column of .* 'd'; choose from a, b, c"),
        ({"drop": "x"}, "unknown column of .* 'x'"),
        ({"drop": "a,b,c"}, "`drop` leaves no column of"),
        ({"columns": "a", "drop": "a"}, "column 'a' of .* was left out by `drop='a'`"),
    ],
)
def test_columns_that_are_not_there(file, how, sentence):
    with pytest.raises(bz.InputError, match=sentence):
        bz.load(file("a,b,c\n1.5,2,3\n4,5,6\n"), **how)


# What cells hold.


def test_true_and_false_are_numbers(file):
    path = file("a,b\n1.5,TRUE\n2.5,False\n0.5,true\n")
    np.testing.assert_array_equal(bz.load(path).y, [[1.5, 1], [2.5, 0], [0.5, 1]])
    assert read_table(path).column("b").dtype.kind == "i"
    with pytest.raises(bz.InputError, match=r"'b' of .* holds 'TRUE' at row 1, which is not a"):
        bz.load(file("a,b\n1.5,TRUE\n2.5,3\n"))


@pytest.mark.parametrize("cell", ["NA", "", "NaN", "nan", "?", "N/A", "NULL"])
def test_missing_entries_are_nan_where_they_can_be_used(file, cell):
    path = file(f"a,b\n1.5,2\n2.5,{cell}\n0.5,1\n")
    found = bz.load(path, missing=True).y
    assert np.isnan(found[1, 1]) and np.isnan(found).sum() == 1
    with pytest.raises(bz.InputError) as refused:
        bz.load(path)
    said = str(refused.value)
    assert f"column 'b' of {path} holds '{cell}' at row 2, which is missing" in said
    assert "`missing=True`" in said and "`drop='b'`" in said
    np.testing.assert_array_equal(bz.load(path, drop="b").y, [[1.5], [2.5], [0.5]])
    with pytest.raises(
        bz.InputError, match=r"holds '.*' at row 2, which is missing: fill it in or"
    ):
        read_table(path).column("b")


def test_arrays_with_nan_are_told_what_to_do():
    y = np.array([[1.0, np.nan], [2.0, 1.0]])
    with pytest.raises(bz.InputError, match=r"bracketz\.Incomplete\(model, ~numpy\.isnan\(y\)\)"):
        bz.estimate(bz.Clustering(components=2), y, bz.AIS(distributions=4))


def test_words_are_no_numbers_unless_somebody_asks(file):
    path = file('x,kind\n1.5,"red"\n2.5,blue\n0.5,red\n')
    with pytest.raises(bz.InputError, match=r"'kind' of .* holds 'red' at row 1.*`drop='kind'`"):
        bz.load(path)
    table = read_table(path)
    codes, words = table.codes("kind")
    assert words == ("blue", "red") and codes.tolist() == [1, 0, 1]
    np.testing.assert_array_equal(
        table.matrix(["x", "kind"], coded=["kind"]), [[1.5, 0, 1], [2.5, 1, 0], [0.5, 0, 1]]
    )


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (("red", "NA", "red"), "holds 'NA' at row 2, which is missing"),
        (("red", "3", "red"), "holds words and '3' at row 2, and only words are coded"),
        (("ann", "bob", "eve"), "a different word in each of 3 rows"),
    ],
)
def test_words_that_are_no_category(file, cells, sentence):
    table = read_table(file("x,kind\n" + "".join(f"0.5,{cell}\n" for cell in cells)))
    with pytest.raises(bz.InputError, match=sentence):
        table.codes("kind")
