//! Tests of more than one element: metadata and its readers, contexts, the tracer, messages, the plugin as a file.

mod analytics;
mod contexts;
mod golden;
pub mod inspect;
mod metadata;
mod names;
pub mod pipeline_files;
pub mod processes;
mod readers;
mod several_decoders;
mod stats;
mod tracer;
mod tutorials;
