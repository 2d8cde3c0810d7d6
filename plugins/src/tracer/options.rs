//! The tracer's options, as they stand between the brackets of GST_TRACERS.

use std::time::Duration;

/// After how long without a frame a stream counts as stalled.
const STALL: Duration = Duration::from_secs(10);

/// Of how many frames of a stream one is sampled.
const SAMPLE: u64 = 100;

/// How the metrics are read.
#[derive(Debug, PartialEq)]
pub(super) enum Metrics {
    /// The application, which reads the property `page`.
    Application,
    /// Clients that ask by HTTP at this address.
    Address(String),
}

/// The user's options.
#[derive(Debug, PartialEq)]
pub(super) struct Options {
    /// `json=FILE`.
    pub json: Option<String>,
    /// `trace=FILE`.
    pub trace: Option<String>,
    /// `metrics=ADDRESS:PORT` or `metrics=application`.
    pub metrics: Option<Metrics>,
    /// `stall=SECONDS`.
    pub stall: Duration,
    /// `otlp=URL`.
    pub otlp: Option<String>,
    /// `sample=N`.
    pub sample: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { json: None, trace: None, metrics: None, stall: STALL, otlp: None, sample: SAMPLE }
    }
}

impl Options {
    /// Reads them; also returns a sentence for each that is wrong and has no effect.
    pub fn read(text: &str) -> (Self, Vec<String>) {
        let mut options = Self::default();
        let mut wrong = Vec::new();
        for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("json", file)) => options.json = Some(file.to_owned()),
                Some(("trace", file)) => options.trace = Some(file.to_owned()),
                Some(("metrics", "application")) => options.metrics = Some(Metrics::Application),
                Some(("metrics", address)) => options.metrics = Some(Metrics::Address(address.to_owned())),
                Some(("stall", seconds)) => match seconds.parse().map(Duration::try_from_secs_f64) {
                    Ok(Ok(stall)) if !stall.is_zero() => options.stall = stall,
                    _ => wrong.push(format!("stall={seconds} is no number of seconds above 0, such as stall=10")),
                },
                Some(("otlp", url)) => options.otlp = Some(url.to_owned()),
                Some(("sample", frames)) => match frames.parse() {
                    Ok(number) if number > 0 => options.sample = number,
                    _ => wrong.push(format!("sample={frames} is no number of frames above 0, such as sample=100")),
                },
                _ => wrong.push(format!(
                    "the tracer knows json=FILE, trace=FILE, metrics=ADDRESS:PORT or metrics=application, stall=SECONDS, otlp=URL and sample=N, not \
                     '{option}'"
                )),
            }
        }
        (options, wrong)
    }

    /// Whether the table is made at a pipeline's end: not where only continuous output was asked for, because taking each
    /// thread's CPU time at each call costs most.
    pub fn table(&self) -> bool {
        self.json.is_some() || self.trace.is_some() || (self.metrics.is_none() && self.otlp.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_are_reported() {
        let (all, wrong) = Options::read("json=a.json, trace=b ,metrics=[::1]:9464,stall=2.5");
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!((all.json.as_deref(), all.trace.as_deref()), (Some("a.json"), Some("b")));
        assert_eq!(all.metrics, Some(Metrics::Address("[::1]:9464".into())));
        assert_eq!(all.stall, Duration::from_millis(2500));
        assert_eq!(Options::read("metrics=application").0.metrics, Some(Metrics::Application));
        assert_eq!(Options::read("").0, Options::default());
        let (spans, wrong) = Options::read("otlp=http://[::1]:4318/v1/traces?a=b,sample=7");
        assert_eq!((spans.otlp.as_deref(), spans.sample), (Some("http://[::1]:4318/v1/traces?a=b"), 7));
        assert!(wrong.is_empty(), "{wrong:?}");
        let durations = ["stall=0", "stall=-1", "stall=nan", "stall=soon"];
        for text in ["jsn=x", "metrics", "sample=0", "sample=-1", "sample=1.5"].into_iter().chain(durations) {
            let (options, wrong) = Options::read(text);
            assert_eq!((options, wrong.len()), (Options::default(), 1), "{text}");
            assert!(wrong[0].contains(text), "{wrong:?}");
        }
    }

    #[test]
    fn the_table_is_left_out_only_where_nothing_but_metrics_is_wanted() {
        for (text, table) in [
            ("", true),
            ("json=a", true),
            ("metrics=:0", false),
            ("metrics=application", false),
            ("otlp=x", false),
            ("otlp=x,json=a", true),
            ("metrics=:0,trace=b", true),
        ] {
            assert_eq!(Options::read(text).0.table(), table, "{text}");
        }
    }
}
