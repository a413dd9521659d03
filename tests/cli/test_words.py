"""Arguments in the library's sentences become options on the command line."""

import pytest

from bracketz.cli.words import translated


@pytest.mark.parametrize(
    "library, terminal",
    [
        ("`max_seconds` must be positive", "--max-seconds must be positive"),
        ("add `force=True` to overwrite", "add --force to overwrite"),
        ("use `point=chain`", "use --point chain"),
        ("try `first=2048` `max_effort=8192`", "try --first 2048 --max-effort 8192"),
        ("takes it with `missing=True`", "takes it with --missing ignore"),
        ("leave it out by `drop='id'`", "leave it out by --drop id"),
        ("by `columns='id,sepal width'`", "by --covariates 'id,sepal width'"),
        ("fewer `columns`, `decimal=','`", "fewer --columns, --decimal ,"),
        ("nothing to translate: y = 3", "nothing to translate: y = 3"),
    ],
)
def test_translation(library, terminal):
    assert translated(library) == terminal
