//! Rows of cells as comma-separated values (RFC 4180, with line feeds).

use super::instance::Point;

/// Rows that are being written.
pub(super) struct Rows(csv::Writer<Vec<u8>>);

impl Rows {
    pub fn new() -> Self {
        Self(csv::WriterBuilder::new().flexible(true).from_writer(Vec::new()))
    }

    /// Adds a row.
    pub fn add<T: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = T>) {
        // Writing to memory does not fail.
        let _ = self.0.write_record(cells);
    }

    /// The rows, without the last line's end.
    pub fn finish(self) -> Vec<u8> {
        let mut text = self.0.into_inner().unwrap_or_default();
        text.pop();
        text
    }
}

/// A coordinate: to a ten-thousandth of a pixel.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.4}");
    // What is rounded to nothing has no sign.
    if text == "-0.0000" { "0.0000".to_owned() } else { text }
}

/// A score; empty where it is not known.
pub(super) fn score(value: f64) -> String {
    if value.is_finite() { format!("{value:.6}") } else { String::new() }
}

/// x, y and score of a point; empty where it was not found.
pub(super) fn of_point(point: Option<Point>) -> [String; 3] {
    point
        .map_or_else(Default::default, |point| [coordinate(point.x), coordinate(point.y), score(point.score)])
}
