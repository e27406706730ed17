-- Programs that were timed: every run as wait4(2) accounts for it, and what they said.
ALTER TABLE trial ADD COLUMN programs TEXT; -- JSON object

CREATE TABLE output (
  trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,
  copy INTEGER NOT NULL,       -- 1 for the first
  stream TEXT NOT NULL,        -- stdout or stderr
  bytes INTEGER NOT NULL,      -- written in all
  head TEXT NOT NULL,          -- the first of them
  tail TEXT NOT NULL,          -- the last of them, when head is not all
  PRIMARY KEY (trial, copy, stream)
) STRICT;
