//! (pure) Measurements in, findings out, one file a question.
