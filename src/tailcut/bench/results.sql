-- The tables of a result file (tailcut.bench.store), which adds these columns to `cells` in new files and old:
--   answer_cpu REAL  CPU seconds of all answers, features included
--   extra_cpu REAL   CPU seconds of all other runs: measured instances
--   sbs_train REAL   mean PARk of the single best solver of the training folds

CREATE TABLE IF NOT EXISTS cells (
    hash TEXT PRIMARY KEY,
    scenario TEXT NOT NULL,
    selector TEXT NOT NULL,      -- name with changed hyperparameters
    settings TEXT NOT NULL,      -- all hyperparameters, JSON
    seed INTEGER NOT NULL,
    penalty REAL NOT NULL,
    error TEXT,                  -- why it failed; NULL if it is done
    par REAL,                    -- mean PARk, feature costs included
    unsolved REAL,               -- share of instances
    decision_us REAL,            -- mean time to select and learn
    vbs REAL, sbs REAL,          -- mean PARk of the virtual best and the single best solver
    seconds REAL NOT NULL,       -- how long the cell took
    choices BLOB, losses BLOB, step_seconds BLOB -- per step; zlib of int16, float64, float32
) WITHOUT ROWID;

-- Scenarios of solution quality, apart from those of runtimes.
CREATE TABLE IF NOT EXISTS quality_cells (
    hash TEXT PRIMARY KEY,
    scenario TEXT NOT NULL,
    selector TEXT NOT NULL,
    seed INTEGER NOT NULL,
    loss REAL NOT NULL,          -- mean loss, from 0 to 1
    best REAL NOT NULL, single REAL NOT NULL, -- of the best of each instance, of the single best
    decision_us REAL NOT NULL
) WITHOUT ROWID;

-- What is known about the cells: which run made each, and what their scenarios are like; descriptions are JSON.
CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, description TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS origins (hash TEXT PRIMARY KEY, run INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scenarios (name TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
