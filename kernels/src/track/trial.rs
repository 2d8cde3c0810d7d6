//! Numbers of ideas that are tried, from the environment: `CUDAINFER_TRIAL="tai=0.3 joint=1"`. With none, `auto` is as it was.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The number of an idea, or what it is without.
pub fn x(name: &'static str, default: f64) -> f64 {
    static NUMBERS: OnceLock<HashMap<String, f64>> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| {
        let text = std::env::var("CUDAINFER_TRIAL").unwrap_or_default();
        let pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
    });
    numbers.get(name).copied().unwrap_or(default)
}
