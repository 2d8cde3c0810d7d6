//! Numbers of a record: pixels and metres to a hundredth, degrees to a tenth, probabilities to a ten-thousandth, and numbers of which nothing is known to seven
//! digits, which float32 has. More is noise, and the lines stay short.

fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

pub(super) fn pixels(value: impl Into<f64>) -> f64 {
    round(value.into(), 100.0)
}

pub(super) fn metres(value: f64) -> f64 {
    round(value, 100.0)
}

/// 0 to 360, without the latter.
pub(super) fn degrees(value: f64) -> f64 {
    round(value, 10.0).rem_euclid(360.0)
}

pub(crate) fn score(value: impl Into<f64>) -> f64 {
    round(value.into(), 10_000.0)
}

pub(super) fn number(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
