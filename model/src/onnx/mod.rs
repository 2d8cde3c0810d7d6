//! Reads from an ONNX file the type of its weights, which of them are in other files, whether it is quantised or has tensors of open sizes, how many images a run takes, how its outputs are made, the
//! modules that it is made of, and what its exporter wrote about it. Weights are skipped, however large they are. `float16` and
//! `channels_last` read and write whole files (`proto`), in another type and with another layout of the image. Engines read
//! the messages themselves.

mod batch;
mod channels_last;
mod endings;
mod float16;
#[cfg(test)]
mod fuzz;
mod message;
mod metadata;
mod operators;
#[allow(missing_docs)] // the fields are those of onnx.proto, which documents them
pub mod proto;
mod scopes;
mod weights;

pub use batch::fixed_batch;
pub use channels_last::{NoChannelsLastForm, channels_last_form, channels_last_name, name_before};
pub use endings::Ending;
pub(crate) use endings::output_endings;
pub use float16::{Float16Form, NoFloat16Form, float16_form};
pub(crate) use metadata::{Metadata, metadata};
pub use operators::{is_quantised, sized_by_data};
pub(crate) use scopes::{Scopes, scopes};
pub use weights::{external_files, has_float16_weights};

/// The field of `ModelProto` with the graph.
const MODEL_GRAPH: u64 = 7;

/// Maximum length in bytes of a name, and of the path of a tensor's file: the system's longest path.
const LONGEST_ENTRY: u64 = 4096;

#[cfg(any(test, feature = "samples"))]
pub mod samples;
