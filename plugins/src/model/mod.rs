//! What elements ask each other about models, and what caps say of a model's input. What a model is, is in the crate of that name.

pub(crate) mod accepts;
mod fields;
mod query;

pub use cudainfer_model::*;
pub(crate) use fields::{convertible, preferred, required};
pub(crate) use query::{BoxedInfo, answer, ask, ask_labels, ask_skeleton, ask_taker, tell_taker};
