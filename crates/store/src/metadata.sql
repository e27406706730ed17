-- Operations that move no bytes of files: create, stat, unlink and their like.
ALTER TABLE trial ADD COLUMN window_metadata_ops INTEGER NOT NULL DEFAULT 0;
