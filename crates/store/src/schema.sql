-- Raw counts only; every rate, percentile and verdict is computed from them (rule 3).
-- Integers are in base units, the unit last in the name. Seeds fit in 53 bits, for JavaScript.
CREATE TABLE campaign (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  engine TEXT NOT NULL,
  host TEXT NOT NULL,
  started_unix_ns INTEGER NOT NULL,
  ended_unix_ns INTEGER,
  seed INTEGER NOT NULL,
  version TEXT NOT NULL,
  argv TEXT NOT NULL,          -- JSON array
  inventory TEXT NOT NULL,     -- JSON
  not_bought TEXT NOT NULL     -- JSON array
) STRICT;

CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL REFERENCES campaign(id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  replicate INTEGER NOT NULL,
  cell_group TEXT NOT NULL,
  first_file INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  settings TEXT NOT NULL,      -- JSON object: a value for every knob
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'failed', 'skipped', 'interrupted')),
  reason TEXT,
  started_unix_ns INTEGER,
  elapsed_ns INTEGER,
  window_start_ns INTEGER,
  window_end_ns INTEGER,
  window_read_bytes INTEGER,
  window_read_ops INTEGER,
  window_write_bytes INTEGER,
  window_write_ops INTEGER,
  streams TEXT,                -- JSON array, one object a stream
  durable TEXT,                -- JSON object
  second_pass TEXT,            -- JSON object
  evidence TEXT,               -- JSON object
  UNIQUE (campaign, number)
) STRICT;

CREATE TABLE sample (
  trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,
  source TEXT NOT NULL,
  rows INTEGER NOT NULL,
  series BLOB NOT NULL,        -- delta-coded and deflated; docs/reference/store.md
  PRIMARY KEY (trial, source)
) STRICT;

CREATE TABLE histogram (
  trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,
  operation TEXT NOT NULL,
  latency BLOB NOT NULL,       -- HdrHistogram V2
  PRIMARY KEY (trial, operation)
) STRICT;

CREATE TABLE note (
  trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX note_trial ON note(trial);
