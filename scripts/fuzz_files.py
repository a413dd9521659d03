"""The files ``scripts/fuzz.py`` feeds to the commands: valid, and broken in every way at hand.

Each stands in a table with what is known of it: GOOD, BAD (a command that reads it must refuse it),
or None where both may be right.
"""

import io
import struct
import zipfile
from pathlib import Path

import numpy as np

GOOD, BAD = "good", "bad"

ROWS = [(0.5, -0.3), (1.0, 0.2), (-0.7, 0.1), (0.1, 1.2), (-1.1, -0.4), (0.3, 0.9)]
TABLE = "a,b\n" + "".join(f"{a},{b}\n" for a, b in ROWS)

#: Tables: (name, bytes, what is known).
TABLES: list[tuple[str, bytes, str | None]] = [
    ("tiny.csv", TABLE.encode(), GOOD),
    ("xy.csv", TABLE.replace("a,b", "x,y").encode(), GOOD),
    ("tiny.tsv", TABLE.replace(",", "\t").encode(), GOOD),
    ("plain.txt", TABLE.replace(",", " ").encode(), None),
    ("bom.csv", b"\xef\xbb\xbf" + TABLE.encode(), GOOD),
    ("crlf.csv", TABLE.replace("\n", "\r\n").encode(), GOOD),
    ("cr.csv", TABLE.replace("\n", "\r").encode(), None),
    ("utf16.csv", TABLE.encode("utf-16"), None),
    ("semicolon.csv", TABLE.replace(",", ";").encode(), None),
    ("comma.csv", TABLE.replace(",", ";").replace(".", ",").encode(), None),
    ("headless.csv", TABLE.partition("\n")[2].encode(), None),
    ("empty.csv", b"", BAD),
    ("blank.csv", b"\n\n\n", BAD),
    ("header.csv", b"a,b\n", BAD),
    ("ragged.csv", b"a,b\n1,2\n3\n4,5,6\n", BAD),
    ("words.csv", b"a,b\n1,x\n2,y\n3,z\n4,x\n", None),
    ("nan.csv", b"a,b\n1,nan\n2,3\n4,5\n6,7\n", None),
    ("inf.csv", b"a,b\n1,inf\n2,3\n4,5\n6,7\n", BAD),
    ("gap.csv", b"a,b\n1,\n2,3\n4,5\n6,7\n", None),
    ("allgaps.csv", b"a,b\n,\n,\n,\n", None),
    ("huge.csv", b"a,b\n1e300,1\n-1e300,2\n3,1e308\n", None),
    ("tinynumbers.csv", b"a,b\n1e-300,1e-308\n5e-324,2e-310\n0,1e-320\n", None),
    ("overflow.csv", b"a,b\n1e400,1\n2,3\n4,5\n", BAD),
    ("constant.csv", b"a,b\n1,1\n1,1\n1,1\n1,1\n", None),
    ("onerow.csv", b"a,b\n1,2\n", None),
    ("onecolumn.csv", b"a\n1\n2\n3\n", None),
    ("twice.csv", b"a,a\n1,2\n3,4\n5,6\n", None),
    ("noname.csv", b"a,\n1,2\n3,4\n5,6\n", None),
    ("quoted.csv", b'"a","b, c"\n"1","2"\n"3","4"\n"5","6"\n', None),
    ("unclosed.csv", b'a,b\n"1,2\n3,4\n', BAD),
    ("unicode.csv", "größe,☃\n1,2\n3,4\n5,6\n".encode(), None),
    ("latin.csv", "größe,b\n1,2\n3,4\n5,6\n".encode("latin-1"), None),
    ("nul.csv", b"a,b\n1,\x002\n3,4\n", BAD),
    ("binary.csv", bytes(range(256)) * 4, BAD),
    ("escape.csv", b"a,\x1b[31mb\n1,\x1b[2J\n3,4\n", BAD),
    ("markup.csv", b"[bold]a[/bold],[/b]\n1,2\n3,4\n5,6\n", None),
    ("markupcell.csv", b"a,b\n1,[/red]\n3,4\n5,6\n", None),
    ("long.csv", b"a," + b"b" * 5000 + b"\n1,2\n3,4\n5,6\n", None),
    ("digits.csv", b"a,b\n" + b"1" * 5000 + b",2\n3,4\n", None),
    ("renamed.csv", b"PK\x03\x04 not a table", BAD),
]

RAW = np.array(ROWS)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, held in members.items():
            archive.writestr(zipfile.ZipInfo(name), held)
    return file.getvalue()


def encrypted(archive: bytes) -> bytes:
    """The same archive with the bit that says that its members have a password."""
    out = bytearray(archive)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (start := out.find(mark, start)) >= 0:
            flags = struct.unpack_from("<H", out, start + place)[0]
            struct.pack_into("<H", out, start + place, flags | 1)
            start += 4
    return bytes(out)


def lying(shape: str) -> bytes:
    """An .npy whose header claims a shape its bytes do not have."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + b"\0" * 64


PICKLED = np.array([{"a": 1}, None], dtype=object)

#: Arrays and archives.
ARRAYS: list[tuple[str, bytes, str | None]] = [
    ("tiny.npy", npy(RAW), GOOD),
    ("whole.npy", npy(np.arange(12).reshape(6, 2)), None),
    ("single.npy", npy(RAW.astype("f4")), None),
    ("fortran.npy", npy(np.asfortranarray(RAW)), None),
    ("empty.npy", b"", BAD),
    ("zero.npy", npy(np.zeros((0, 2))), BAD),
    ("scalar.npy", npy(np.array(3.0)), BAD),
    ("vector.npy", npy(RAW[:, 0]), None),
    ("cube.npy", npy(np.zeros((2, 2, 2))), BAD),
    ("nan.npy", npy(np.where(RAW > 1, np.nan, RAW)), None),
    ("inf.npy", npy(np.where(RAW > 1, np.inf, RAW)), BAD),
    ("huge.npy", npy(RAW * 1e300), None),
    ("complex.npy", npy(RAW * 1j), BAD),
    ("text.npy", npy(np.array([["a", "b"]])), BAD),
    ("bool.npy", npy(RAW > 0), None),
    ("dates.npy", npy(np.array([["2020-01-01"]], dtype="M8[D]")), BAD),
    ("records.npy", npy(np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])), BAD),
    ("pickle.npy", npy(PICKLED), BAD),
    ("truncated.npy", npy(RAW)[:-9], BAD),
    ("headonly.npy", npy(RAW)[:20], BAD),
    ("lies.npy", lying("(1000000000000, 9)"), BAD),
    ("negative.npy", lying("(-1, 2)"), BAD),
    ("junk.npy", bytes(range(256)), BAD),
    ("renamed.npy", TABLE.encode(), BAD),
    ("empty.npz", b"", BAD),
    ("junk.npz", bytes(range(256)), BAD),
    ("renamed.npz", npy(RAW), BAD),
    ("foreign.npz", npz(x=RAW), BAD),
    ("nometa.npz", npz(y=RAW), BAD),
    ("badmeta.npz", npz(y=RAW, meta=np.array("{")), BAD),
    ("listmeta.npz", npz(y=RAW, meta=np.array("[1, 2]")), BAD),
    ("emptymeta.npz", npz(y=RAW, meta=np.array("{}")), BAD),
    ("nummeta.npz", npz(y=RAW, meta=np.array(3.0)), BAD),
    ("pickle.npz", npz(y=PICKLED, meta=np.array("{}")), BAD),
    ("nomember.npz", zipped({}), BAD),
    ("nested.npz", zipped({"y.npy": zipped({"y.npy": npy(RAW)}), "meta.npy": b""}), BAD),
    ("climbing.npz", zipped({"../../y.npy": npy(RAW), "meta.npy": npy(np.array("{}"))}), BAD),
    ("encrypted.npz", encrypted(zipped({"y.npy": npy(RAW), "meta.npy": npy(np.array("{}"))})), BAD),
    ("bomb.npz", zipped({"y.npy": b"\0" * 5_000_000, "meta.npy": b""}), BAD),
]

SPEC = """name = "tiny"
seed = 3
trials = 2

[truth]
distributions = 20

[[models]]
model = "clustering"
rows = 6
columns = 2
hyperparameters = { components = 2 }

[[estimators]]
estimator = "lw"
ladder = [8]
"""

#: Specs of experiments.
SPECS: list[tuple[str, bytes, str | None]] = [
    ("spec.toml", SPEC.encode(), GOOD),
    ("crlf.toml", SPEC.replace("\n", "\r\n").encode(), GOOD),
    ("bom.toml", b"\xef\xbb\xbf" + SPEC.encode(), None),
    ("empty.toml", b"", BAD),
    ("truncated.toml", SPEC.encode()[:60], BAD),
    ("junk.toml", bytes(range(256)), BAD),
    ("latin.toml", SPEC.replace("tiny", "größe").encode("latin-1"), BAD),
    ("list.toml", b"models = 3\n", BAD),
    ("noname.toml", SPEC.partition("\n")[2].encode(), BAD),
    ("extra.toml", SPEC.replace("seed = 3", "sede = 3").encode(), BAD),
    ("zerotrials.toml", SPEC.replace("trials = 2", "trials = 0").encode(), BAD),
    ("manytrials.toml", SPEC.replace("trials = 2", f"trials = {10**20}").encode(), BAD),
    ("wordtrials.toml", SPEC.replace("trials = 2", 'trials = "two"').encode(), BAD),
    ("nanseed.toml", SPEC.replace("seed = 3", "seed = nan").encode(), BAD),
    ("minusseed.toml", SPEC.replace("seed = 3", "seed = -1").encode(), BAD),
    ("dateseed.toml", SPEC.replace("seed = 3", "seed = 2020-01-01").encode(), BAD),
    ("zerorows.toml", SPEC.replace("rows = 6", "rows = 0").encode(), BAD),
    ("manyrows.toml", SPEC.replace("rows = 6", f"rows = {10**20}").encode(), BAD),
    ("unknownmodel.toml", SPEC.replace('"clustering"', '"zzz"').encode(), BAD),
    ("unknownestimator.toml", SPEC.replace('"lw"', '"zzz"').encode(), BAD),
    ("emptyladder.toml", SPEC.replace("[8]", "[]").encode(), BAD),
    ("badladder.toml", SPEC.replace("[8]", "[0, -1]").encode(), BAD),
    ("infsetting.toml", SPEC.replace("= 2 }", "= 2, noise_variance = inf }").encode(), BAD),
    ("unknownsetting.toml", SPEC.replace("= 2 }", "= 2, zzz = 1 }").encode(), BAD),
    ("zerocomponents.toml", SPEC.replace("components = 2", "components = 0").encode(), BAD),
    ("markupname.toml", SPEC.replace('"tiny"', '"[/b]"').encode(), None),
    ("escapename.toml", SPEC.replace('"tiny"', r'"\u001b[31m"').encode(), BAD),
    ("longname.toml", SPEC.replace('"tiny"', '"' + "n" * 5000 + '"').encode(), BAD),
    ("paper.toml", ('paper = "zzz"\n' + SPEC).encode(), BAD),
    ("deep.toml", b"a = " + b"[" * 2000 + b"]" * 2000 + b"\n", BAD),
]

#: Data of Stan programs.
STAN_DATA: list[tuple[str, bytes, str | None]] = [
    ("stan.json", b'{"N": 3, "x": [1, 2, 3], "y": [1, 2, 4]}', None),
    ("empty.json", b"", BAD),
    ("list.json", b"[1, 2]", BAD),
    ("null.json", b"null", BAD),
    ("truncated.json", b'{"N": 3, "x": [1', BAD),
    ("junk.json", bytes(range(256)), BAD),
    ("nan.json", b'{"N": NaN, "x": [Infinity], "y": [1]}', None),
    ("deep.json", b'{"N": ' + b"[" * 5000 + b"]" * 5000 + b"}", BAD),
    ("huge.json", b'{"N": ' + b"9" * 5000 + b"}", BAD),
]

#: Stan programs: none of them compiles, which takes most of a minute.
STAN: list[tuple[str, bytes, str | None]] = [
    ("empty.stan", b"", BAD),
    ("junk.stan", bytes(range(256)), BAD),
    ("truncated.stan", b"data { int N; } parameters { real a; } model { a ~ nor", BAD),
    ("words.stan", b"[bold]not a program[/bold] \x1b[31m", BAD),
]

MODEL = """import numpyro
import numpyro.distributions as dist


def regression(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(slope * x, 1.0), obs=y)


def broken(x, y=None):
    raise ValueError("[/b] broken \\n in two lines")


def nothing():
    pass


def number():
    return 3


def leaves():
    raise SystemExit(7)


def deeper(n=0):
    return deeper(n + 1)


def infinite(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, float("nan")))
    numpyro.sample("y", dist.Normal(slope * x, 1.0), obs=y)


class Foreign:
    pass


NUMBER = 3
MODELS = {"one": 1}
"""

#: Models of the user's. Those in hostile files fail when they are imported.
PYTHON: list[tuple[str, bytes, str | None]] = [
    ("models.py", MODEL.encode(), GOOD),
    ("raises.py", b'raise RuntimeError("[/b] \\x1b[31m no")\n', BAD),
    ("syntax.py", b"def (:\n", BAD),
    ("indent.py", b"if 1:\nm = 1\n", BAD),
    ("exits.py", b"import sys\nsys.exit(0)\n", BAD),
    ("recursive.py", b"def f():\n    return f()\n\n\nm = f()\n", BAD),
    ("interrupts.py", b"raise GeneratorExit\n", BAD),
    ("needs.py", b"import no_such_package_at_all\n", BAD),
    ("binary.py", bytes(range(256)), BAD),
    ("latin.py", "# größe\nm = 1\n".encode("latin-1"), BAD),
    ("empty.py", b"", BAD),
    ("json.py", b"m = 1\n", BAD),
    ("prints.py", b'print("{noise")\n\nfrom models import regression\n', None),
    ("endless.py", b"while True:\n    pass\n", None),
]

#: What else lies in the folder: users' files that must stay as they are.
OTHERS: list[tuple[str, bytes, str | None]] = [
    ("precious.txt", b"a thesis\n", None),
    ("precious.png", b"\x89PNG a picture\n", None),
    ("precious.npz", b"not a checkpoint\n", None),
    ("junk.db", bytes(range(256)), BAD),
    ("empty.db", b"", None),
    ("text.db", b"a text, no store\n", BAD),
    ("full/precious.txt", b"a thesis\n", None),
    ("full/report.html", b"a page\n", None),
    ("full/trials.csv", b"mine\n", None),
    ("full/bounds.png", b"mine\n", None),
]

#: Written by commands of bracketz before the run begins.
MADE = {
    "sim.npz": "simulate clustering --rows 6 --columns 2 --components 2 --out sim.npz",
    "results.db": "experiment run spec.toml --store results.db",
    "saved.npz": "estimate clustering lw --data sim.npz --trials 2 --proposals 8"
    " --checkpoint saved.npz",
}

ALL = (*TABLES, *ARRAYS, *SPECS, *STAN_DATA, *STAN, *PYTHON, *OTHERS)


def write(folder: Path) -> None:
    """All files that need no command of bracketz."""
    for name, held, _ in ALL:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held)


def spoil(folder: Path) -> None:
    """Broken copies of what bracketz wrote."""
    for made in MADE:
        file = folder / made
        if not file.exists():
            continue
        held = file.read_bytes()
        (folder / f"cut-{made}").write_bytes(held[: len(held) // 2])
        turned = bytearray(held)
        for place in range(len(held) // 3, len(held), max(1, len(held) // 7)):
            turned[place] ^= 0xFF
        (folder / f"turned-{made}").write_bytes(bytes(turned))


SPOILT: list[tuple[str, str | None]] = [
    ("cut-sim.npz", BAD),
    ("turned-sim.npz", None),
    ("cut-results.db", None),
    ("turned-results.db", None),
    ("cut-saved.npz", None),
    ("turned-saved.npz", None),
]
