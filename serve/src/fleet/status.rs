//! The state of all streams, as the API, the log and the metrics report it.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Fleet;
use super::zone_metrics::{self, number};
use crate::config::redacted;
use crate::history::HistoryStatus;
use crate::retention::Keeping;
use crate::stream::supervisor::State;
use crate::stream::{Reason, StreamStatus};
use crate::unpoisoned::lock;

/// All streams, as `/status` shows them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FleetStatus {
    /// The service's version.
    pub version: String,
    /// Seconds since it was started.
    pub uptime: f64,
    /// The configuration file.
    pub configuration: String,
    /// Why it was refused when it was last read; then the earlier configuration stays in use.
    pub configuration_error: Option<String>,
    /// Whether changes by the API are kept across restarts.
    pub keeps: bool,
    /// What cannot be written in the folder `state`, and why; it is tried again.
    #[serde(default)]
    pub state_error: Option<String>,
    /// What is kept of recordings and snapshots, where `state` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeping: Option<Keeping>,
    /// How the history is, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<HistoryStatus>,
    /// How many pipelines were abandoned because they do not stop, also of streams that were removed since.
    pub left_behind: usize,
    /// The number of streams in each state.
    pub states: BTreeMap<State, usize>,
    /// The streams, by name.
    pub streams: Vec<StreamStatus>,
}

/// A pipeline, as `/v1/pipelines` shows it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PipelineStatus {
    /// Its name.
    pub name: String,
    /// Its description, with the keys open.
    pub line: String,
    /// The models that its streams run, by trtinfer.
    pub models: BTreeMap<String, Vec<String>>,
    /// Its streams.
    pub streams: Vec<String>,
}

impl FleetStatus {
    /// One line of text: how many streams are in each state.
    pub fn line(&self) -> String {
        let counts = self.states.iter().filter(|(_, count)| **count > 0);
        let counts: Vec<_> = counts.map(|(state, count)| format!("{count} {}", state.name())).collect();
        if counts.is_empty() { "no streams".into() } else { counts.join(", ") }
    }
}

impl Fleet {
    /// The state of all streams.
    pub fn status(&self) -> FleetStatus {
        let streams: Vec<_> = lock(&self.0.streams).values().map(|stream| stream.status()).collect();
        let mut states: BTreeMap<State, usize> = State::ALL.into_iter().map(|state| (state, 0)).collect();
        for stream in &streams {
            *states.entry(stream.state).or_default() += 1;
        }
        FleetStatus {
            version: env!("CARGO_PKG_VERSION").into(),
            uptime: self.0.began.elapsed().as_secs_f64(),
            configuration: self.config().path.display().to_string(),
            configuration_error: lock(&self.0.refused).as_deref().map(redacted),
            keeps: self.keeps(),
            state_error: self.0.files.error(),
            keeping: self.0.retention.as_ref().map(|retention| retention.room().keeping()),
            history: self.history().status(),
            left_behind: self.left_behind(),
            states,
            streams,
        }
    }

    /// All pipelines.
    pub fn pipelines(&self) -> Vec<PipelineStatus> {
        let streams: Vec<_> =
            lock(&self.0.streams).values().map(|stream| (stream.spec(), stream.built())).collect();
        let pipeline = |(name, pipeline): (&String, &crate::config::Pipeline)| {
            let mut models: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let own: Vec<_> = streams.iter().filter(|(spec, _)| spec.source.pipeline == *name).collect();
            for element in own
                .iter()
                .filter_map(|(_, built)| built.as_ref())
                .flat_map(|built| built.description.networks())
            {
                let of = models.entry(gst::prelude::GstObjectExt::name(&element).to_string()).or_default();
                of.extend(gst::prelude::ObjectExt::property::<Option<String>>(&element, "model"));
                of.sort();
                of.dedup();
            }
            let streams = own.iter().map(|(spec, _)| spec.name().to_owned()).collect();
            PipelineStatus { name: name.clone(), line: redacted(&pipeline.line), models, streams }
        };
        self.config().pipelines.iter().map(pipeline).collect()
    }

    /// The service's own metrics, in Prometheus' text format.
    pub fn own_metrics(&self) -> String {
        let status = self.status();
        let streams: Vec<_> = lock(&self.0.streams).values().cloned().collect();
        let mut page = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
            let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for (labels, value) in samples {
                let _ = writeln!(page, "{name}{{{labels}}} {value}");
            }
        };
        let each = |value: &dyn Fn(&StreamStatus) -> Option<f64>| {
            let sample =
                |stream: &StreamStatus| Some((format!("stream=\"{}\"", stream.name), value(stream)?));
            status.streams.iter().filter_map(sample).collect::<Vec<_>>()
        };
        let states = status.streams.iter().flat_map(|stream| {
            State::ALL.map(|state| {
                let labels = format!("stream=\"{}\",state=\"{}\"", stream.name, state.name());
                (labels, f64::from(u8::from(stream.state == state)))
            })
        });
        let restarts = status.streams.iter().flat_map(|stream| {
            Reason::ALL.map(|reason| {
                let labels = format!("stream=\"{}\",reason=\"{}\"", stream.name, reason.name());
                (labels, number(stream.restarts.get(&reason).copied().unwrap_or(0)))
            })
        });
        family(
            "cudainfer_serve_stream_state",
            "gauge",
            "1 for the state in which the stream is, 0 for the others.",
            states.collect(),
        );
        family(
            "cudainfer_serve_restarts_total",
            "counter",
            "Times that the stream was started again, by reason.",
            restarts.collect(),
        );
        family(
            "cudainfer_serve_stream_frames_total",
            "counter",
            "Frames of the stream that have come to its end.",
            each(&|stream| Some(number(stream.frames))),
        );
        family(
            "cudainfer_serve_stream_dropped_total",
            "counter",
            "Frames of the stream that were dropped before its line, which was too slow for them.",
            each(&|stream| Some(number(stream.dropped))),
        );
        family(
            "cudainfer_serve_stream_lag_seconds",
            "gauge",
            "How late the last frame of a live stream came to the end of its line.",
            each(&|stream| stream.lag),
        );
        family(
            "cudainfer_serve_decode_errors_total",
            "counter",
            "Failures of the stream's decoder.",
            each(&|stream| Some(number(stream.decode_errors))),
        );
        let of_zones = streams.iter().filter_map(|stream| Some((stream.spec(), stream.outputs()?)));
        family(
            "cudainfer_serve_zone_events_total",
            "counter",
            "Events of the zones of the stream, by zone, kind and class.",
            of_zones.flat_map(|(spec, outputs)| zone_metrics::events(spec.name(), &outputs)).collect(),
        );
        let built = streams.iter().filter_map(|stream| Some((stream.spec(), stream.built()?)));
        family(
            "cudainfer_serve_zone_occupancy",
            "gauge",
            "Objects in the polygon now, by class.",
            built.flat_map(|(spec, built)| zone_metrics::occupancy(spec.name(), &built)).collect(),
        );
        let hooks = self.0.outputs.hooks.counts();
        let outcomes = hooks.iter().flat_map(|hook| {
            let outcomes = [
                ("acknowledged", hook.acknowledged),
                ("refused", hook.refused),
                ("lost", hook.lost),
                ("without-picture", hook.without_picture),
            ];
            outcomes.map(|(outcome, count)| {
                (format!("notify=\"{}\",outcome=\"{outcome}\"", hook.place), number(count))
            })
        });
        family(
            "cudainfer_serve_notifications_total",
            "counter",
            "Events for webhooks, by what became of them.",
            outcomes.collect(),
        );
        family(
            "cudainfer_serve_notifications_waiting",
            "gauge",
            "Events that wait for webhooks.",
            hooks.iter().map(|hook| (format!("notify=\"{}\"", hook.place), number(hook.waiting))).collect(),
        );
        if let Some(describe) = self.0.outputs.describer.counts() {
            let outcomes = [
                ("answered", describe.answered),
                ("failed", describe.failed),
                ("dropped", describe.dropped),
                ("without-picture", describe.without_picture),
            ];
            family(
                "cudainfer_serve_description_requests_total",
                "counter",
                "Requests for descriptions of events, those that were sent again among them.",
                vec![(String::new(), number(describe.requests))],
            );
            family(
                "cudainfer_serve_descriptions_total",
                "counter",
                "Events that should be described, by what became of them.",
                outcomes.map(|(outcome, count)| (format!("outcome=\"{outcome}\""), number(count))).into(),
            );
            family(
                "cudainfer_serve_descriptions_waiting",
                "gauge",
                "Events that wait for a picture, for their turn or for an answer.",
                vec![(String::new(), number(describe.waiting))],
            );
        }
        family(
            "cudainfer_serve_retry_seconds",
            "gauge",
            "Seconds until the stream is started again, while it waits for that.",
            each(&|stream| stream.retry_in),
        );
        family(
            "cudainfer_serve_left_behind",
            "gauge",
            "Pipelines of the stream that were abandoned because they do not stop.",
            each(&|stream| Some(f64::from(stream.left_behind))),
        );
        page
    }
}
