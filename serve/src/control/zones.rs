//! `/v1/streams/{name}/zones`: what a stream's zonecount counts in.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::{Body, Refused};
use super::shared::ControlState;
use super::streams::{absent, changed};
use crate::config::{Ground, Zone, ZoneUnits, read_json};

/// A stream's zones.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zones {
    /// Units of their points; pixels if not given.
    #[serde(default = "pixels")]
    units: ZoneUnits,
    /// The zones.
    zones: Vec<Zone>,
    /// Where the ground is, in the same units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ground: Option<Ground>,
}

fn pixels() -> ZoneUnits {
    ZoneUnits::Pixels
}

pub async fn read(State(control): ControlState, Path(name): Path<String>) -> Result<Json<Zones>, Refused> {
    let source = control.fleet.source(&name).ok_or_else(|| absent(&name))?;
    let units = source.zone_units.unwrap_or(ZoneUnits::Pixels);
    Ok(Json(Zones { units, zones: source.zones, ground: source.ground }))
}

pub async fn write(
    State(control): ControlState,
    Path(name): Path<String>,
    Body(body): Body<Value>,
) -> Result<Json<Value>, Refused> {
    let wanted: Zones = read_json(body).map_err(|e| Refused::new(StatusCode::BAD_REQUEST, e))?;
    // null, because the request's zones replace those of a file.
    let Zones { units, zones, ground } = wanted;
    // A patch is merged with what is there, so that an anchor which is not named has to be taken away.
    let whole = |Ground { points, metres, anchor }: &Ground| json!({ "points": points, "metres": metres, "anchor": anchor });
    let whole = ground.as_ref().map(whole);
    let patch = json!({ "zones": zones, "ground": whole, "zone-units": units, "zones-file": null });
    let change = changed(&control, name, patch).await?;
    let mut answer = json!({ "units": units, "zones": zones, "change": change });
    if let (Some(ground), Some(answer)) = (ground, answer.as_object_mut()) {
        answer.insert("ground".into(), json!(ground));
    }
    Ok(Json(answer))
}
