-- One plan may have workloads of two engines: each trial says which one ran it.
ALTER TABLE trial ADD COLUMN engine TEXT;         -- NULL in older campaigns: the campaign's
ALTER TABLE campaign ADD COLUMN prices TEXT;      -- JSON object; NULL where the plan has none
