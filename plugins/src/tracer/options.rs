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

/// The options of a text. As in a GstStructure, as which GStreamer reads the options of its own tracers, a value in quotation marks may
/// have commas.
fn split(text: &str) -> Vec<&str> {
    let mut options = Vec::new();
    let (mut begin, mut quoted, mut escaped, mut before) = (0, false, false, ' ');
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            // Elsewhere in a value it is a character of a file's name.
            '"' if quoted || before == '=' => quoted = !quoted,
            ',' if !quoted => {
                options.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => (),
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    options.push(&text[begin..]);
    options.into_iter().map(str::trim).filter(|option| !option.is_empty()).collect()
}

/// A value without its quotation marks, in which a backslash stands before each quotation mark and backslash of the value; none if the
/// second quotation mark is missing or something follows it.
fn unquoted(value: &str) -> Option<String> {
    let Some(inside) = value.strip_prefix('"') else { return Some(value.to_owned()) };
    let (mut text, mut characters) = (String::new(), inside.chars());
    loop {
        match characters.next()? {
            '"' => return characters.next().is_none().then_some(text),
            '\\' => text.push(characters.next()?),
            c => text.push(c),
        }
    }
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
        for option in split(text) {
            let value = option.split_once('=').map(|(key, value)| (key.trim(), unquoted(value.trim())));
            let value = match value {
                Some((key, Some(value))) => Some((key, value)),
                Some((_, None)) => {
                    wrong.push(format!("a quotation mark of {option} has no second one at its end, as in metrics=\"127.0.0.1:9464\""));
                    continue;
                }
                None => None,
            };
            match value.as_ref().map(|(key, value)| (*key, value.as_str())) {
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
        let quoted = r#"metrics="0.0.0.0:9000", json = "a,b \"c\\.json",trace=d"e.json,stall="2""#;
        let (quoted, wrong) = Options::read(quoted);
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(quoted.metrics, Some(Metrics::Address("0.0.0.0:9000".into())));
        assert_eq!(
            (quoted.json.as_deref(), quoted.trace.as_deref()),
            (Some(r#"a,b "c\.json"#), Some("d\"e.json"))
        );
        assert_eq!(quoted.stall, Duration::from_secs(2));
        assert_eq!(Options::read("metrics=\"application\"").0.metrics, Some(Metrics::Application));
        for text in ["json=\"a", "json=\"a\\\"", "json=\"a\"b", "json=\""] {
            let (options, wrong) = Options::read(text);
            assert_eq!((options, wrong.len()), (Options::default(), 1), "{text}");
            assert!(wrong[0].contains(text) && wrong[0].contains("quotation mark"), "{wrong:?}");
        }
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

    #[test]
    fn fuzz_tracer_options() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "tracer_options")
            .with_ratio(200) // an option that is not known has a sentence
            .run_text(|text| drop(Options::read(text)));
    }
}
