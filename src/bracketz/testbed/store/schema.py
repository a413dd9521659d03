"""The store's schema, as SQL with its documentation, and how a file is recognised as a store."""

#: "bktz" in the header's application id (byte 68 of the file) says whose file it is.
APPLICATION_ID = 0x626B747A
#: Older formats are read as they are, and brought up to this one when opened to write.
VERSION = 3

ENTRIES = """-- Which tasks an experiment consists of, in the order they run, and what each is for.
CREATE TABLE entries (
    experiment INTEGER NOT NULL REFERENCES experiments,
    position   INTEGER NOT NULL,
    task       TEXT NOT NULL REFERENCES tasks,
    problem    TEXT NOT NULL,            -- the model's label
    curve      TEXT NOT NULL,            -- the estimator's label; of a cross, the fitted model's
    role       TEXT NOT NULL CHECK (role IN ('truth', 'curve', 'latency', 'cross')),
    PRIMARY KEY (experiment, position)
)"""

SEALS = """-- A hash of what a task gave: numbers that are changed by hand are found out.
CREATE TABLE seals (
    task       TEXT PRIMARY KEY REFERENCES tasks,
    seal       TEXT NOT NULL
)"""

SCHEMA = f"""
-- One row per spec; running a changed spec of the same name replaces the row, never a result.
CREATE TABLE experiments (
    experiment INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    spec       TEXT NOT NULL,            -- the TOML file
    seed       INTEGER NOT NULL,
    paper      TEXT,                     -- whose claims its ledger checks
    agree_within REAL NOT NULL,          -- nats: when a ground truth is accepted
    updated    TEXT NOT NULL             -- UTC
);
-- One row per task: what determines its values (task is the hash of it), and how far it has come.
CREATE TABLE tasks (
    task       TEXT PRIMARY KEY,
    content    TEXT NOT NULL,            -- canonical JSON of bracketz.testbed.spec.tasks.Task
    model      TEXT NOT NULL,
    rows       INTEGER NOT NULL,
    columns    INTEGER NOT NULL,
    data_seed  INTEGER NOT NULL,
    estimator  TEXT NOT NULL,
    knob       TEXT NOT NULL,
    rung       INTEGER NOT NULL,         -- the knob's value
    trials     INTEGER NOT NULL,
    seed       INTEGER NOT NULL,
    status     TEXT NOT NULL DEFAULT 'pending'
               CHECK (status IN ('pending', 'running', 'done', 'failed')),
    message    TEXT,                     -- why it failed
    owner      TEXT,                     -- the process that runs it
    beat       REAL,                     -- when that process last said so, seconds since 1970
    side       TEXT,                     -- lower, upper or none, once done
    finished   TEXT                      -- UTC
);
{ENTRIES};
-- The values: one row per trial. NULL (from older versions) where an estimator returned no number.
CREATE TABLE trials (
    task       TEXT NOT NULL REFERENCES tasks,
    trial      INTEGER NOT NULL,
    log_ml     REAL,
    PRIMARY KEY (task, trial)
);
-- What else an estimator reports, such as the number of steps nested sampling took.
CREATE TABLE details (
    task       TEXT NOT NULL REFERENCES tasks,
    trial      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    value      REAL,
    PRIMARY KEY (task, trial, name)
);
-- Seconds; run_seconds / chains is the amortised time of one trial.
CREATE TABLE timings (
    task            TEXT PRIMARY KEY REFERENCES tasks,
    compile_seconds REAL NOT NULL,
    run_seconds     REAL NOT NULL,
    chains          INTEGER NOT NULL,    -- trials that shared the run
    device          TEXT NOT NULL,
    environment     INTEGER NOT NULL REFERENCES environments
);
-- Versions of what made a result.
CREATE TABLE environments (
    environment INTEGER PRIMARY KEY,
    versions    TEXT NOT NULL UNIQUE     -- JSON: bracketz, jax, ..., commit, processor, load
);
{SEALS};
"""
#: Of a task that is done: a value is missing or infinite. Versions before NumericalError kept such
#: results; they count as failed.
NO_NUMBER = (
    "status = 'done' AND EXISTS (SELECT 1 FROM trials WHERE trials.task = tasks.task"
    " AND (log_ml IS NULL OR abs(log_ml) > 1.7976931348623157e308))"
)
TABLES = ("experiments", "tasks", "entries", "trials", "details", "timings", "environments")
#: From each format to the next: 1 knew no crosses, 2 no seals (what it holds stays unsealed).
MIGRATIONS = {
    1: (
        "ALTER TABLE entries RENAME TO entries_1",
        ENTRIES,
        "INSERT INTO entries SELECT * FROM entries_1",
        "DROP TABLE entries_1",
    ),
    2: (SEALS,),
}
