-- What `run --resume` needs: the plan as it was run, and each trial's place in its order.
ALTER TABLE campaign ADD COLUMN plan_json TEXT;   -- JSON object; NULL for `evaluate`
ALTER TABLE trial ADD COLUMN planned INTEGER;     -- 1 for the first; NULL for probes and layouts
