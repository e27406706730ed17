-- What was not run of a plan, and what its prices are in.

ALTER TABLE campaign ADD COLUMN left_out TEXT;    -- JSON object: a reason, and how many cells; NULL where there are none
ALTER TABLE campaign ADD COLUMN currency TEXT;    -- of its prices, as written; NULL where they have none
