//! ONNX files as graphs.
//!
//! Nodes are read in the file's order, each by a function of `operators` that adds what it says to a
//! [`Builder`](crate::graph::Builder). All dimensions are known, because those of the inputs are given; so what a model calculates
//! from dimensions is evaluated at once, and only work on the inputs' numbers remains.

mod call;
mod external;
mod model;
mod operators;
mod signature;
mod tensor;
mod types;

use std::path::Path;

pub use self::signature::signature;
use crate::FusedError;
use crate::graph::{Graph, simplify};

/// Reads an ONNX file, and simplifies its graph. `folder` is the file's, in which its external weights are; `given` are the
/// dimensions of inputs, by their names: of all that leave one open in the file.
///
/// # Errors
/// [`FusedError::Model`] if the file cannot be read, or contradicts itself or `given`; [`FusedError::Unsupported`] for the first
/// operator that the engine does not know.
pub fn read(bytes: &[u8], folder: &Path, given: &[(&str, &[usize])]) -> Result<Graph, FusedError> {
    let mut graph = read_plainly(bytes, folder, given)?;
    simplify(&mut graph)?;
    Ok(graph)
}

/// Reads an ONNX file node by node, as [`read`] does, and leaves the graph so.
///
/// # Errors
/// As [`read`].
pub fn read_plainly(bytes: &[u8], folder: &Path, given: &[(&str, &[usize])]) -> Result<Graph, FusedError> {
    let (graph, problems) = model::read(bytes, folder, given)?;
    problems.into_iter().next().map_or(Ok(graph), Err)
}

/// Everything in an ONNX file that the engine does not know, in the file's order: what it says of nodes after such a one is as far as
/// their dimensions are known.
///
/// # Errors
/// As [`read`], but for operators that are not known.
pub fn unsupported(
    bytes: &[u8],
    folder: &Path,
    given: &[(&str, &[usize])],
) -> Result<Vec<FusedError>, FusedError> {
    Ok(model::read(bytes, folder, given)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_import() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "import")
            .with_ratio(1000) // a node of ten bytes is a value with its dimensions, its name and what is made of it
            .run(|bytes| {
                // No weights lie there.
                let folder = Path::new("/nonexistent");
                drop(read(bytes, folder, &[]));
                drop(unsupported(bytes, folder, &[]));
            });
    }
}
