//! Why the engine does not run a model.

/// Why the engine does not run a model.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum FusedError {
    /// The file is no ONNX model, or contradicts itself.
    #[error("the model cannot be read: {0}")]
    Model(String),
    /// The engine does not know an operator, or not in this form.
    #[error("the operator {operator} of node '{node}' is not supported{}", if why.is_empty() { String::new() } else { format!(": {why}") })]
    Unsupported {
        /// Its name in ONNX.
        operator: String,
        /// The node's name, or that of its first output.
        node: String,
        /// What about it is not supported; empty where all of it is not.
        why: String,
    },
    /// A plan contradicts itself, or its inputs.
    #[error("the plan is impossible: {0}")]
    Plan(String),
    /// A step of a plan cannot be run.
    #[error("step {number} of the plan is impossible: {why}")]
    Step {
        /// Its index in the plan.
        number: usize,
        /// What contradicts what.
        why: String,
    },
}
