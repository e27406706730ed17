-- What a trial's layout took to make: arrays, file systems, mounts.
ALTER TABLE trial ADD COLUMN layout TEXT; -- JSON object; NULL in directories
