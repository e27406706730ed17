-- What others measured and printed, with its author: never counts of ours.
ALTER TABLE trial ADD COLUMN reported TEXT; -- JSON object; NULL where we measured
