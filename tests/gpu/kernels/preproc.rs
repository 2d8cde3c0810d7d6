//! The operation `preproc`.
