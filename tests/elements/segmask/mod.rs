//! The element segmask: masks of classes and of objects.

mod instances;
mod masks;
mod mattes;
mod prompts;
