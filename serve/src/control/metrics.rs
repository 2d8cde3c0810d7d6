//! `/metrics`: the counts of the plugin's tracer in this process, and the states of the streams.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use gst::prelude::*;

use super::answer::Refused;
use super::shared::{ControlState, blocking};

/// Prometheus' text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub async fn metrics(State(control): ControlState) -> Result<impl IntoResponse, Refused> {
    let fleet = control.fleet.clone();
    let text = blocking(move || traced() + &fleet.own_metrics()).await?;
    Ok(([(CONTENT_TYPE, TEXT)], text))
}

/// The tracer's page; empty if there is no such tracer, because the user has set GST_TRACERS to something else.
fn traced() -> String {
    let tracers = gst::active_tracers();
    let ours = tracers.iter().find(|tracer| tracer.type_().name() == "GstCudaInferTracer");
    // The plugin that is installed may be of another version than this program.
    let ours = ours.filter(|tracer| tracer.find_property("page").is_some());
    ours.and_then(|tracer| tracer.property::<Option<String>>("page")).unwrap_or_default()
}
