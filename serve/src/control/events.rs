//! `/v1/events` and `/v1/history`: what happened, and how the streams and the process were.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use super::answer::{Query, Refused};
use super::shared::{Control, ControlState, blocking};
use crate::history::{EventFilter, Events, NoHistory, Reader, STEPS, Series, SeriesFilter};
use crate::time::{milliseconds, read_time};

/// The most events in an answer.
const MOST: usize = 1000;
/// Events in an answer if the request has no `limit`.
const USUAL: usize = 100;
/// The most steps in an answer.
const MOST_STEPS: i64 = 1500;
/// Minutes that are shown without `from`.
const HOUR: i64 = 60;
/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;

impl From<NoHistory> for Refused {
    fn from(none: NoHistory) -> Self {
        match none {
            NoHistory::Off(sentence) => Self::new(StatusCode::CONFLICT, sentence),
            NoHistory::Failed(sentence) => Self::new(StatusCode::SERVICE_UNAVAILABLE, sentence),
        }
    }
}

/// The query of [`list`]. An empty value is as none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventQuery {
    stream: Option<String>,
    zone: Option<String>,
    class: Option<String>,
    kind: Option<String>,
    from: Option<String>,
    to: Option<String>,
    limit: Option<String>,
    before: Option<String>,
}

/// The query of [`series`]. An empty value is as none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesQuery {
    from: Option<String>,
    to: Option<String>,
    step: Option<String>,
    stream: Option<String>,
}

impl EventQuery {
    fn filter(self) -> Result<EventFilter, Refused> {
        let limit = match number("limit", self.limit)? {
            None => USUAL,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=MOST).contains(limit))
                .ok_or_else(|| bad(format!("limit={limit} is out of range: expected 1 to {MOST}")))?,
        };
        Ok(EventFilter {
            stream: given(self.stream),
            zone: given(self.zone),
            class: given(self.class),
            kind: given(self.kind),
            from: time("from", self.from)?,
            to: time("to", self.to)?,
            before: number("before", self.before)?,
            limit,
        })
    }
}

impl SeriesQuery {
    fn filter(self, now: i64) -> Result<SeriesFilter, Refused> {
        let step = number("step", self.step)?.unwrap_or(STEPS[0]);
        if !STEPS.contains(&step) {
            return Err(bad(format!(
                "step={step} is no step: expected {}",
                STEPS.map(|s| s.to_string()).join(", ")
            )));
        }
        let step = step / 60;
        let down = |minute: i64| minute.div_euclid(step).saturating_mul(step);
        // The minute in which a time lies, or that begins with it.
        let to = time("to", self.to)?.unwrap_or(now).saturating_add(MINUTE - 1).div_euclid(MINUTE);
        let to = down(to.saturating_add(step - 1));
        let from = time("from", self.from)?.map_or(to.saturating_sub(HOUR), |from| from.div_euclid(MINUTE));
        let from = down(from);
        let steps = to.saturating_sub(from) / step;
        if to <= from {
            return Err(bad("to is not after from: expected a later time".to_owned()));
        }
        if steps > MOST_STEPS {
            return Err(bad(format!(
                "there are {steps} steps from from to to: expected {MOST_STEPS} at most. Set a larger step, or less time"
            )));
        }
        Ok(SeriesFilter { from, to, step, stream: given(self.stream) })
    }
}

pub async fn list(
    State(control): ControlState,
    Query(query): Query<EventQuery>,
) -> Result<Json<Events>, Refused> {
    let filter = query.filter()?;
    Ok(Json(read(&control, move |reader| reader.events(&filter)).await?))
}

pub async fn series(
    State(control): ControlState,
    Query(query): Query<SeriesQuery>,
) -> Result<Json<Series>, Refused> {
    let filter = query.filter(milliseconds())?;
    Ok(Json(read(&control, move |reader| reader.series(&filter)).await?))
}

/// Reads the history in a thread of its own.
///
/// # Errors
/// There is none, or it cannot be read now.
pub(super) async fn read<T: Send + 'static>(
    control: &Arc<Control>,
    work: impl FnOnce(&Reader) -> Result<T, String> + Send + 'static,
) -> Result<T, Refused> {
    let history = control.fleet.history().clone();
    let done = blocking(move || {
        let reader = history.reader()?;
        work(&reader).map_err(NoHistory::Failed)
    });
    Ok(done.await??)
}

pub(super) fn bad(sentence: String) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, sentence)
}

/// A value that is not empty.
pub(super) fn given(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

/// A whole number.
///
/// # Errors
/// It is none.
pub(super) fn number(name: &str, value: Option<String>) -> Result<Option<i64>, Refused> {
    let read = |text: String| {
        text.parse()
            .map_err(|_| bad(format!("{name}='{text:.64}' is no whole number: expected one such as 60")))
    };
    given(value).map(read).transpose()
}

fn time(name: &str, value: Option<String>) -> Result<Option<i64>, Refused> {
    given(value).map(|text| read_time(name, &text).map_err(bad)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(from: &str, to: &str, step: &str) -> SeriesQuery {
        let text = |text: &str| Some(text.to_owned());
        SeriesQuery { from: text(from), to: text(to), step: text(step), stream: text("") }
    }

    #[test]
    fn times_are_rounded_to_whole_steps_around_them() {
        let minutes = |query: SeriesQuery| {
            query.filter(90 * MINUTE + 1).map(|filter| (filter.from, filter.to, filter.step)).unwrap()
        };
        assert_eq!(minutes(query("", "", "")), (31, 91, 1));
        assert_eq!(minutes(query("1970-01-01T00:07:59Z", "1970-01-01T00:10:00Z", "60")), (7, 10, 1));
        assert_eq!(minutes(query("1970-01-01T00:07:59Z", "1970-01-01T00:10:01Z", "300")), (5, 15, 5));
        assert_eq!(minutes(query("1970-01-01T00:07:59Z", "", "3600")), (0, 120, 60));
    }

    #[test]
    fn what_cannot_be_answered_is_refused_with_a_sentence() {
        for (from, to, step, part) in [
            ("", "", "61", "expected 60, 300, 3600"),
            ("", "", "x", "no whole number"),
            ("", "", "-60", "step=-60"),
            ("noon", "", "", "from='noon' is no time"),
            ("1970-01-02T00:00:00Z", "1970-01-01T00:00:00Z", "", "to is not after from"),
            ("0001-01-01T00:00:00Z", "9999-01-01T00:00:00Z", "3600", "1500 at most"),
        ] {
            let refused = query(from, to, step).filter(0).unwrap_err();
            assert_eq!(refused.status, StatusCode::BAD_REQUEST);
            assert!(refused.sentence.contains(part), "{}", refused.sentence);
        }
    }

    #[test]
    fn fuzz_query() {
        let uri = |text: &str| format!("/v1/events?{text}").parse::<axum::http::Uri>().ok();
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "query").run_text(move |text| {
            let Some(uri) = uri(text) else { return };
            if let Ok(axum::extract::Query(query)) = axum::extract::Query::<EventQuery>::try_from_uri(&uri) {
                let _ = query.filter();
            }
            if let Ok(axum::extract::Query(query)) = axum::extract::Query::<SeriesQuery>::try_from_uri(&uri)
                && let Ok(filter) = query.filter(1_800_000_000_000)
            {
                assert!((filter.to - filter.from) / filter.step <= MOST_STEPS);
            }
        });
    }
}
