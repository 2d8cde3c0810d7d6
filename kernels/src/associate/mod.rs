//! associate
