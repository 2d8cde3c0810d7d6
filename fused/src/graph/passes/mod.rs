//! What makes a graph simpler, and leaves what it computes.

mod dead;

use super::Graph;
use crate::FusedError;

/// Simplifies a graph as far as the passes can.
///
/// # Errors
/// [`FusedError::Model`]: the graph contradicts itself.
pub fn simplify(graph: &mut Graph) -> Result<(), FusedError> {
    dead::remove(graph);
    Ok(())
}
