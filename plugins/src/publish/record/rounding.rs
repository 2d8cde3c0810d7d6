//! Numbers of a record: pixels to a hundredth and probabilities to a ten-thousandth. More is noise, and the lines stay short.

fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

pub(super) fn pixels(value: impl Into<f64>) -> f64 {
    round(value.into(), 100.0)
}

pub(super) fn score(value: impl Into<f64>) -> f64 {
    round(value.into(), 10_000.0)
}
