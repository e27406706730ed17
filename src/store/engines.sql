-- One plan may have workloads of two engines: each trial says which one ran it.
ALTER TABLE trial ADD COLUMN engine TEXT;         -- NULL in older campaigns: the campaign's
