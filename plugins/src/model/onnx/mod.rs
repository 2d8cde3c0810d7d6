//! Reads from an ONNX file the type of its weights, which of them are in other files, how its outputs are made, the
//! modules that it is made of, and what its exporter wrote about it. Weights are skipped, however large they are. `float16` reads
//! and writes a whole file, in another type.

mod endings;
mod float16;
mod message;
mod metadata;
mod scopes;
mod weights;

pub(crate) use endings::{Ending, output_endings};
pub(crate) use float16::float16_form;
pub(crate) use metadata::{Metadata, metadata};
pub(crate) use scopes::{Scopes, scopes};
pub(crate) use weights::{external_files, has_float16_weights};

/// The field of `ModelProto` with the graph.
const MODEL_GRAPH: u64 = 7;

/// Maximum length in bytes of a name, and of the path of a tensor's file: the system's longest path.
const LONGEST_ENTRY: u64 = 4096;

#[cfg(test)]
mod samples {
    //! Files as the tests write them.

    use std::path::PathBuf;

    /// A field of less than 128 bytes.
    pub fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    /// A file with these bytes.
    pub fn written(name: &str, bytes: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cudainfer-onnx-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }
}
