-- What was checked of the bytes that a trial read, and what was wrong with them.
ALTER TABLE trial ADD COLUMN integrity TEXT; -- JSON object; NULL where nothing was checked

CREATE TABLE fault (
  trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,
  at_ns INTEGER NOT NULL,      -- since the trial's start
  file TEXT NOT NULL,
  offset INTEGER NOT NULL,     -- in the file, bytes
  kind TEXT NOT NULL,
  what TEXT NOT NULL,          -- one sentence
  lasting TEXT NOT NULL CHECK (lasting IN ('unknown', 'transient', 'in-memory', 'persistent')),
  rereads TEXT NOT NULL,       -- JSON array
  excerpt_at INTEGER NOT NULL, -- in the block, bytes
  expected TEXT NOT NULL,      -- hexadecimal; empty where it is not known
  found TEXT NOT NULL,         -- hexadecimal
  kernel TEXT NOT NULL         -- JSON array
) STRICT;
CREATE INDEX fault_trial ON fault(trial);
