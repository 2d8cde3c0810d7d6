//! `/v1/streams/{name}/zones`: what a stream's zonecount counts in.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::{Body, Refused};
use super::shared::ControlState;
use super::streams::{absent, changed};
use crate::config::{Zone, ZoneUnits, read_json};

/// A stream's zones.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zones {
    /// Units of their points; pixels if not given.
    #[serde(default = "pixels")]
    units: ZoneUnits,
    /// The zones.
    zones: Vec<Zone>,
}

fn pixels() -> ZoneUnits {
    ZoneUnits::Pixels
}

pub async fn read(State(control): ControlState, Path(name): Path<String>) -> Result<Json<Zones>, Refused> {
    let source = control.fleet.source(&name).ok_or_else(|| absent(&name))?;
    Ok(Json(Zones { units: source.zone_units.unwrap_or(ZoneUnits::Pixels), zones: source.zones }))
}

pub async fn write(
    State(control): ControlState,
    Path(name): Path<String>,
    Body(body): Body<Value>,
) -> Result<Json<Value>, Refused> {
    let wanted: Zones = read_json(body).map_err(|e| Refused::new(StatusCode::BAD_REQUEST, e))?;
    // null, because the request's zones replace those of a file.
    let patch = json!({ "zones": wanted.zones, "zone-units": wanted.units, "zones-file": null });
    let change = changed(&control, name, patch).await?;
    Ok(Json(json!({ "units": wanted.units, "zones": wanted.zones, "change": change })))
}
