//! Why the engine does not run a model, as an error of the provider.

use crate::inference::{InferenceError, Provider};
use crate::property::nick;

/// The provider's error.
pub(super) fn refused(reason: &impl ToString) -> InferenceError {
    InferenceError::Provider { provider: nick(Provider::Fused), reason: reason.to_string() }
}
