//! The operation `peaks`.
