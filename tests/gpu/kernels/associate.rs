//! The operation `associate`.
