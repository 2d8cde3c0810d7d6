//! The operation `detect`.
