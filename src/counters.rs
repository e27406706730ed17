//! What the kernel counted while a trial ran, one file a source.
