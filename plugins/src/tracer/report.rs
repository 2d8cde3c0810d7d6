//! How the measurements are printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cudainfer_kernels::device::DEVICE_BYTES;
use gst::prelude::*;
use serde::Serialize;

use super::links;
use super::stats::{Stat, stats};
use super::table::{Account, Closed, End};

/// Lines of the table are at most this long, as long as the elements' names can be shortened.
const WIDTH: usize = 120;

/// Names are shortened to no less than this.
const NAME: usize = 16;

/// The field of `stats` that holds the time of an element's own threads.
const WORKERS: &str = "busy-ns";

/// The table's columns of counts: title, field of `stats`, and how many of the field make one of the column.
const COUNTS: [(&str, &str, f64); 7] = [
    ("launches", "launches", 1.0),
    ("KB to GPU", "host-to-device-bytes", 1e3),
    ("KB to CPU", "device-to-host-bytes", 1e3),
    ("KB on GPU", "device-to-device-bytes", 1e3),
    ("waits", "host-waits", 1.0),
    ("allocs", "allocations", 1.0),
    ("fallbacks", "fallbacks", 1.0),
];

#[derive(Debug, Serialize)]
struct ElementRow {
    name: String,
    factory: String,
    /// Buffers that reached it.
    frames: u64,
    /// CPU time of the calling thread, and its workers' time.
    ms_per_frame: f64,
    /// Of these, its workers' time by the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_ms_per_frame: Option<f64>,
    /// Time on the GPU, of the frames that were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_us_per_frame: Option<f64>,
    /// The numbers of the property `stats`, as they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    stats: BTreeMap<String, u64>,
    /// The names of the elements that it is linked to, downstream.
    feeds: Vec<String>,
}

/// What is written at the end.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// `eos`, `error` or `stopped`.
    end: &'static str,
    /// Buffers that the last sink got.
    frames: u64,
    /// From the first buffer to the end.
    seconds: f64,
    /// GPU memory that the elements hold together.
    #[serde(skip_serializing_if = "is_zero")]
    device_bytes: u64,
    elements: Vec<ElementRow>,
}

impl Report {
    /// Reads the elements' `stats` too.
    pub fn new(closed: &Closed, end: End) -> Self {
        let rows = closed.accounts.iter();
        let elements: Vec<_> = rows.map(|(account, element)| ElementRow::new(account, element)).collect();
        Self {
            end: match end {
                End::Eos => "eos",
                End::Error => "error",
                End::Stopped => "stopped",
            },
            frames: elements.last().map_or(0, |row| row.frames),
            seconds: closed.seconds,
            device_bytes: elements.iter().map(|row| row.count(DEVICE_BYTES)).sum(),
            elements,
        }
    }

    /// The table that is printed; empty where no buffer flowed. Columns that are zero everywhere are left out.
    pub fn text(&self) -> String {
        if self.elements.is_empty() {
            return String::new();
        }
        let rows = &self.elements;
        let workers = rows.iter().any(|row| row.worker_ms_per_frame.is_some());
        let mut columns = vec![
            column("buffers", rows, |row| row.frames.to_string()),
            column("ms", rows, |row| {
                let mark = if row.worker_ms_per_frame.is_some() { "*" } else { "" };
                let space = if workers && mark.is_empty() { " " } else { "" };
                format!("{:.3}{mark}{space}", row.ms_per_frame)
            }),
        ];
        for (title, field, unit) in COUNTS {
            if rows.iter().any(|row| row.count(field) > 0) {
                columns.push(column(title, rows, |row| row.amount(row.per_frame(field).map(|n| n / unit))));
            }
        }
        if rows.iter().any(|row| row.gpu_us_per_frame.is_some()) {
            columns.push(column("GPU µs", rows, |row| row.amount(row.gpu_us_per_frame)));
        }
        if self.device_bytes > 0 {
            columns.push(column("GPU MB", rows, |row| {
                row.amount(row.stats.get(DEVICE_BYTES).map(|held| *held as f64 / 1e6))
            }));
        }
        // Two spaces before each column.
        let widths =
            columns.iter().map(|cells| 2 + cells.iter().map(|c| c.chars().count()).max().unwrap_or(0));
        let widths: Vec<_> = widths.collect();
        let left = WIDTH.saturating_sub(widths.iter().sum()).max(NAME);
        let names = column("element", rows, |row| shortened(&row.name, left));
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);

        let mut text = String::new();
        for (line, name) in names.iter().enumerate() {
            let _ = write!(text, "{name:width$}");
            for (cells, width) in columns.iter().zip(&widths) {
                let _ = write!(text, "{:>width$}", cells.get(line).map_or("", String::as_str));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        if workers {
            text.push_str("* with the time of its own threads, by the clock\n");
        }
        if self.device_bytes > 0 {
            let _ = writeln!(text, "{:.1} MB of GPU memory are held", self.device_bytes as f64 / 1e6);
        }
        let rate = self.frames as f64 / self.seconds.max(f64::MIN_POSITIVE);
        let end = match self.end {
            "eos" => String::new(),
            end => format!(" ({end})"),
        };
        let _ = writeln!(text, "{} buffers in {:.2} s: {rate:.1} a second{end}", self.frames, self.seconds);
        text
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl ElementRow {
    fn new(account: &Account, element: &gst::Element) -> Self {
        let stats = numbers(element);
        let count = |field| stats.get(field).copied().unwrap_or(0);
        let milliseconds = |ns: u64, frames: u64| ns as f64 / 1e6 / frames.max(1) as f64;
        let worker = stats.contains_key(WORKERS).then(|| milliseconds(count(WORKERS), count("frames")));
        let samples = count("gpu-samples");
        let cpu = account.cpu.as_secs_f64() * 1e3 / account.buffers.max(1) as f64;
        Self {
            name: element.name().into(),
            factory: element.factory().map_or_else(String::new, |f| f.name().into()),
            frames: account.buffers,
            ms_per_frame: cpu + worker.unwrap_or(0.0),
            worker_ms_per_frame: worker,
            gpu_us_per_frame: (samples > 0).then(|| count("gpu-ns") as f64 / 1e3 / samples as f64),
            stats,
            feeds: links::fed_by(element),
        }
    }

    fn count(&self, field: &str) -> u64 {
        self.stats.get(field).copied().unwrap_or(0)
    }

    /// A count divided by the frames that the element itself counted: both go on after the end of a stream.
    fn per_frame(&self, field: &str) -> Option<f64> {
        let count = *self.stats.get(field)?;
        Some(count as f64 / self.count("frames").max(1) as f64)
    }

    /// A figure of this row; empty where there is none.
    fn amount(&self, figure: Option<f64>) -> String {
        figure.map_or_else(String::new, |value| match value {
            0.0 => "0".to_owned(),
            100.0.. => format!("{value:.0}"),
            10.0.. => format!("{value:.1}"),
            1.0.. => format!("{value:.2}"),
            _ => format!("{value:.3}"),
        })
    }
}

/// How much of the device's memory is used, in bytes, as trtinfer reports it; none without a device.
pub(super) fn memory_used(element: &gst::Element) -> Option<u64> {
    numbers(element).get("device-memory-used").copied().filter(|used| *used > 0)
}

/// The numbers in `stats`.
fn numbers(element: &gst::Element) -> BTreeMap<String, u64> {
    let number = |(name, stat)| match stat {
        Stat::Number(number) => Some((name, number)),
        Stat::Histogram(_) => None,
    };
    stats(element).into_iter().filter_map(number).collect()
}

/// A column: its title, and its figure for each row.
fn column(title: &str, rows: &[ElementRow], cell: impl Fn(&ElementRow) -> String) -> Vec<String> {
    std::iter::once(title.to_owned()).chain(rows.iter().map(cell)).collect()
}

/// `name`, with its middle left out where it is longer than `limit` characters.
fn shortened(name: &str, limit: usize) -> String {
    let length = name.chars().count();
    if length <= limit {
        return name.to_owned();
    }
    let kept = limit.saturating_sub(1);
    let start: String = name.chars().take(kept / 2).collect();
    let end: String = name.chars().skip(length - (kept - kept / 2)).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::device::Counters;

    use super::*;

    fn row(name: &str, stats: &[(&str, u64)]) -> ElementRow {
        ElementRow {
            name: name.into(),
            factory: String::new(),
            frames: 200,
            ms_per_frame: 0.25,
            worker_ms_per_frame: None,
            gpu_us_per_frame: None,
            stats: stats.iter().map(|(field, count)| ((*field).to_owned(), *count)).collect(),
            feeds: Vec::new(),
        }
    }

    fn report(elements: Vec<ElementRow>) -> Report {
        let device_bytes = elements.iter().map(|row| row.count(DEVICE_BYTES)).sum();
        Report { end: "eos", frames: 200, seconds: 2.0, device_bytes, elements }
    }

    #[test]
    fn every_column_is_a_counter() {
        let names: Vec<_> = Counters::default().values().map(|(name, _)| name).collect();
        for field in COUNTS.map(|(_, field, _)| field).into_iter().chain(["frames", "gpu-ns", "gpu-samples"])
        {
            assert!(names.contains(&field), "{field} is not among {names:?}");
        }
    }

    #[test]
    fn counts_are_shown_a_frame_and_columns_of_zeros_are_not() {
        let mut first =
            row("preproc", &[("frames", 200), ("launches", 200), ("host-to-device-bytes", 40_000_000)]);
        first.gpu_us_per_frame = Some(12.34);
        let mut second =
            row("infer", &[("frames", 100), ("launches", 250), ("allocations", 1), ("host-waits", 0)]);
        second.worker_ms_per_frame = Some(0.2);
        let text = report(vec![first, second, row("foreign", &[])]).text();
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[0],
            "element buffers ms launches KB to GPU allocs GPU µs".split(' ').collect::<Vec<_>>()
        );
        assert_eq!(lines[1], ["preproc", "200", "0.250", "1.00", "200", "12.3"]);
        assert_eq!(lines[2], ["infer", "200", "0.250*", "2.50", "0.010"]);
        assert_eq!(lines[3], ["foreign", "200", "0.250"]);
        assert_eq!(lines[4][0], "*", "{text}");
        assert_eq!(lines[5].join(" "), "200 buffers in 2.00 s: 100.0 a second");
    }

    #[test]
    fn memory_is_shown_as_it_is_held_with_its_sum() {
        let first = row("preproc", &[("frames", 200), (DEVICE_BYTES, 3_400_000)]);
        let second = row("infer", &[("frames", 200), (DEVICE_BYTES, 250_000_000)]);
        let report = report(vec![first, second, row("foreign", &[])]);
        let text = report.text();
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[0].ends_with("GPU MB") && lines[1].ends_with(" 3.40") && lines[2].ends_with(" 250"),
            "{text}"
        );
        assert_eq!(lines[4], "253.4 MB of GPU memory are held");
        assert_eq!(serde_json::to_value(&report).unwrap()["device_bytes"], 253_400_000);
    }

    #[test]
    fn the_table_fits_120_columns_with_everything_in_it() {
        let all: Vec<_> = Counters::default().values().map(|(name, _)| (name, 123_456_789)).collect();
        let all: Vec<_> =
            all.into_iter().filter(|(name, _)| *name != "frames").chain([("frames", 99)]).collect();
        let mut long = row(&"a-very-long-name-".repeat(8), &all);
        long.gpu_us_per_frame = Some(1234.5);
        let text = report(vec![long]).text();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("a-very-…"), "{text}");
    }
}
