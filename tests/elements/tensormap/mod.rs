//! The element tensormap: maps of numbers, and maps that replace the frame.

mod maps;
