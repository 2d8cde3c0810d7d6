//! The operation `draw`.
