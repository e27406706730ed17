-- A verification of a user's own files: which passes, how long each took, how many files.
ALTER TABLE trial ADD COLUMN verified TEXT; -- JSON object; NULL where no such files were read

-- What was the matter with files but for their bytes.
CREATE TABLE problem (
  trial INTEGER NOT NULL REFERENCES trial(id) ON DELETE CASCADE,
  path TEXT NOT NULL,          -- bytes that are no text, and control characters, as \xNN
  kind TEXT NOT NULL,
  why TEXT NOT NULL            -- one clause: the kernel's words where it refused
) STRICT;
CREATE INDEX problem_trial ON problem(trial);
