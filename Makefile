# Everything a person needs: make demo, make test. Both make the environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test fast lint docs tutorials readme reproduce-quick dist matrix bench honesty mutants mutants-random guards fuzz chaos clean
demo: $(READY)
	$(BIN)/bracketz demo --out demo --force

# Two runs: most tests are compiled quickly, those about what users run as users compile it.
test: lint
	$(BIN)/python -m pytest -n 2 -m "not as_shipped"
	BRACKETZ_AS_SHIPPED=1 $(BIN)/python -m pytest -n 2 -m as_shipped

# The first tier: all but the slow tests.
fast: lint
	$(BIN)/python -m pytest -n 2 -m "not slow and not as_shipped"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The documentation site, into site/: strict, then read in a browser where there is one.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	$(BIN)/python scripts/read_site.py

# Runs the tutorials and writes their output into the pages; some ten minutes on 2 cores.
tutorials: $(READY)
	$(BIN)/python scripts/tutorials.py

# The README's table against what the demo prints; about a minute.
readme: $(READY)
	$(BIN)/python scripts/readme.py

# The paper in minutes, and whether its verdicts agree with those of the committed full run.
reproduce-quick: $(READY)
	$(BIN)/bracketz reproduce grosse2015 --preset quick --out reproduce-quick
	$(BIN)/python papers/grosse2015/agree.py reproduce-quick/ledger.json papers/grosse2015/results/ledger.json

# Wheel and sdist, each installed into an empty environment and tried.
dist: $(READY)
	$(BIN)/python scripts/delivery.py dist

# Python 3.11 to 3.13 (those that are here, or that uv finds), oldest and newest JAX.
matrix: $(READY)
	$(BIN)/python scripts/delivery.py matrix

# All benchmarks, some half an hour on 2 cores that do nothing else; exit code 1 if a goal is missed.
bench: $(READY)
	$(BIN)/python benchmarks/suite.py

# Claims against exact evidence over 300 data sets; under an hour on 2 cores.
honesty: $(READY)
	$(BIN)/python benchmarks/honesty.py

# The whole correctness kit on every mutant; about half an hour on 2 cores.
mutants: $(READY)
	$(BIN)/python tests/check/hunt.py --jobs 2

# Edits drawn at random, judged by tests and kit; hours on 2 cores. Run again, it goes on where it was.
SEED ?= 0
mutants-random: $(READY) lines.json
	$(BIN)/python scripts/mutate.py --seed $(SEED) --count $(or $(COUNT),300) --jobs 2 --resume mutants-$(SEED).jsonl --lines lines.json

# Which test runs which line; all tests once, under coverage. Remove the file when code has changed.
lines.json: | $(READY)
	$(BIN)/python scripts/covering.py lines.json --jobs 2

# Every refusal of the front ends taken out: a test must miss it; some minutes.
guards: $(READY)
	$(BIN)/python scripts/guards.py src/bracketz/adapters tests/adapters

# Hostile command lines, files and environments; under an hour on 2 cores. Exit code 1 if there are findings.
fuzz: $(READY)
	$(BIN)/python scripts/fuzz.py --seed $(SEED) --count $(or $(COUNT),2000)

# Commands killed at random moments and resumed, 50 times each; an hour or two on 2 cores.
chaos: $(READY)
	$(BIN)/python scripts/chaos.py --seed $(SEED) --count $(or $(COUNT),50)

# Exact versions from constraints.txt: what the tests run on.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bracketz needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo site dist reproduce-quick lines.json .pytest_cache .mypy_cache .ruff_cache
