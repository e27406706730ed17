-- Trials without their samples, for `brickyard report`: a cache like the rest of `derived`.
CREATE TABLE derived_knobs (
  id INTEGER PRIMARY KEY,      -- a hash of what is in it: replicates share one
  engine TEXT NOT NULL,
  settings TEXT NOT NULL       -- JSON
) STRICT;

CREATE TABLE derived_light (
  trial INTEGER PRIMARY KEY,
  version INTEGER NOT NULL,    -- of the formulae; a row of another one is computed anew
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  knobs INTEGER NOT NULL,
  light BLOB NOT NULL          -- all but the settings
) STRICT;
CREATE INDEX derived_light_campaign ON derived_light(campaign, number);

CREATE TRIGGER derived_light_gone AFTER DELETE ON derived
BEGIN DELETE FROM derived_light WHERE trial = old.trial; END;
