-- Checksums: what every trial and campaign was when it was kept; docs/reference/store.md.
CREATE TABLE seal (
  campaign INTEGER NOT NULL,
  number INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  own INTEGER NOT NULL,        -- of the trial's row
  parts INTEGER NOT NULL,      -- of its samples, histograms, notes and their like
  PRIMARY KEY (campaign, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE seal_campaign (
  campaign INTEGER PRIMARY KEY,
  own INTEGER NOT NULL,        -- of the campaign's row
  trials INTEGER NOT NULL,     -- how many it has
  every_own INTEGER NOT NULL,  -- of all its trials, by exclusive or
  every_parts INTEGER NOT NULL,
  as_found INTEGER NOT NULL    -- 1 where it was kept before there were checksums
) STRICT;

-- Whoever removes a trial or a campaign, by whichever program, removes its checksum with it.
CREATE TRIGGER seal_new AFTER INSERT ON seal
BEGIN UPDATE seal_campaign SET trials = trials + 1,
  every_own = (every_own | new.own) & ~(every_own & new.own),
  every_parts = (every_parts | new.parts) & ~(every_parts & new.parts)
  WHERE campaign = new.campaign; END;
CREATE TRIGGER seal_gone AFTER DELETE ON seal
BEGIN UPDATE seal_campaign SET trials = trials - 1,
  every_own = (every_own | old.own) & ~(every_own & old.own),
  every_parts = (every_parts | old.parts) & ~(every_parts & old.parts)
  WHERE campaign = old.campaign; END;
CREATE TRIGGER seal_trial_gone AFTER DELETE ON trial
BEGIN DELETE FROM seal WHERE campaign = old.campaign AND number = old.number; END;
CREATE TRIGGER seal_campaign_gone AFTER DELETE ON campaign
BEGIN DELETE FROM seal WHERE campaign = old.id;
  DELETE FROM seal_campaign WHERE campaign = old.id; END;

-- Rows of the cache have checksums too; those of before have none, and are computed anew.
DELETE FROM derived;
DELETE FROM derived_light;
DELETE FROM derived_name;
DELETE FROM derived_settings;
DELETE FROM derived_knobs;
DELETE FROM derived_column;
ALTER TABLE derived ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
ALTER TABLE derived_light ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
ALTER TABLE derived_column ADD COLUMN seal INTEGER NOT NULL DEFAULT 0;
