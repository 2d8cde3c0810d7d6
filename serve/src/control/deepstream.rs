//! The two messages about streams of DeepStream's REST server, for programs that send them already.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Body, Query, Refused};
use super::shared::ControlState;
use super::streams::ask;
use crate::config::SourceConfig;

/// The message. Its other keys concern DeepStream only, and are ignored.
#[derive(Deserialize)]
pub struct Message {
    value: Sensor,
}

/// Its `value`.
#[derive(Deserialize)]
struct Sensor {
    camera_id: String,
    #[serde(default)]
    camera_url: String,
    #[serde(default)]
    change: String,
}

/// The query, which DeepStream does not have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    /// The pipeline, if there are several.
    pipeline: Option<String>,
}

pub async fn add(
    State(control): ControlState,
    Query(wanted): Query<Where>,
    Body(message): Body<Message>,
) -> Result<Json<Value>, Refused> {
    let Sensor { camera_id, camera_url, change } = message.value;
    expected(&change, &["camera_add", "camera_streaming"])?;
    let source = SourceConfig {
        name: camera_id,
        uri: camera_url.into(),
        pipeline: wanted.pipeline.unwrap_or_default(),
        ..SourceConfig::default()
    };
    ask(&control, move |fleet| fleet.add(source)).await?;
    Ok(done("STREAM_ADD_SUCCESS"))
}

pub async fn remove(
    State(control): ControlState,
    Body(message): Body<Message>,
) -> Result<Json<Value>, Refused> {
    let Sensor { camera_id, change, .. } = message.value;
    expected(&change, &["camera_remove"])?;
    ask(&control, move |fleet| fleet.remove(&camera_id)).await?;
    Ok(done("STREAM_REMOVE_SUCCESS"))
}

/// Refuses a `change` that does not fit the path.
fn expected(change: &str, words: &[&str]) -> Result<(), Refused> {
    if change.is_empty() || words.iter().any(|word| change.contains(word)) {
        return Ok(());
    }
    Err(Refused::new(
        StatusCode::BAD_REQUEST,
        format!("change is '{change}': expected {}", words.join(" or ")),
    ))
}

fn done(reason: &str) -> Json<Value> {
    Json(json!({ "status": "HTTP/1.1 200 OK", "reason": reason }))
}
