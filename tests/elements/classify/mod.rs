//! The element classify, and models whose outputs are classes, attributes or text.

mod attributes;
mod classes;
mod numbers;
mod text;
