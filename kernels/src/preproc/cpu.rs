//! The CPU twin.
