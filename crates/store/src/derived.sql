-- What was computed of each trial, for `brickyard query`: a cache, never the truth (rule 3).
-- Raw counts alone are what a store is; these tables may be emptied at any time and are filled anew.
CREATE TABLE derived_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE    -- of a workload, a knob or a figure
) STRICT;

CREATE TABLE derived_settings (
  id INTEGER PRIMARY KEY,      -- a hash of what is in it: replicates share one
  packed BLOB NOT NULL         -- value by name
) STRICT;

CREATE TABLE derived (
  trial INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,    -- of the formulae; a row of another one is computed anew
  workload INTEGER NOT NULL,
  settings INTEGER NOT NULL,
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  replicate INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  engine TEXT,
  origin TEXT,
  steady INTEGER,
  notes TEXT,
  figures BLOB NOT NULL        -- value by name
) STRICT;
CREATE INDEX derived_version ON derived(version);

CREATE TABLE derived_column (
  version INTEGER NOT NULL,
  workload INTEGER NOT NULL,
  name INTEGER NOT NULL,
  is_figure INTEGER NOT NULL,
  PRIMARY KEY (version, workload, name, is_figure)
) STRICT, WITHOUT ROWID;
