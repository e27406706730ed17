//! The engine `command`, with real programs.
