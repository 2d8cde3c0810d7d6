//! `/v1/discover`: the cameras of this network that speak ONVIF, and the video addresses of one of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Body, Refused};
use super::shared::{ControlState, blocking};
use crate::config::read_json;
use crate::onvif::{self, Discovered, Login, NotFound};

/// The body of `POST /v1/discover/profiles`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfilesRequest {
    xaddr: String,
    #[serde(default)]
    user: String,
    #[serde(default)]
    password: String,
}

impl From<NotFound> for Refused {
    fn from(absent: NotFound) -> Self {
        Self::new(StatusCode::NOT_FOUND, absent.to_string())
    }
}

/// It sends packets, so it is no GET.
pub async fn cameras(State(control): ControlState) -> Result<Json<Discovered>, Refused> {
    let turn = Arc::clone(&control.discovering).try_acquire_owned().map_err(|_| {
        let sentence = "somebody else is looking for cameras: look again in a few seconds";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let targets = control.discovery.clone();
    if targets.is_empty() {
        let sentence = "nobody may look for cameras here: discovery in [server] is empty";
        return Err(Refused::new(StatusCode::CONFLICT, sentence));
    }
    let found = blocking(move || {
        let _turn = turn;
        onvif::discover(&targets)
    });
    let found = found.await?.map_err(|sentence| Refused::new(StatusCode::CONFLICT, sentence))?;
    control.found.note(&found.cameras);
    Ok(Json(found))
}

pub async fn profiles(State(control): ControlState, Body(body): Body<Value>) -> Result<Json<Value>, Refused> {
    let ProfilesRequest { xaddr, user, password } =
        read_json(body).map_err(|e| Refused::new(StatusCode::BAD_REQUEST, e))?;
    let host = control.found.host(&xaddr)?;
    let turn = Arc::clone(&control.trials).try_acquire_owned().map_err(|_| {
        let sentence = "two other cameras are being asked: try again when they have answered";
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let asked = blocking(move || {
        let _turn = turn;
        let login = (!user.is_empty()).then_some(Login { user, password });
        onvif::profiles(&xaddr, host, login.as_ref())
    });
    let profiles = asked.await?.map_err(|e| Refused::new(StatusCode::CONFLICT, e.to_string()))?;
    Ok(Json(json!({ "profiles": profiles })))
}
