//! Zones as the property writes them: `door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570:classes=person:dwell=30`.

use cudainfer_kernels::words::Words as _;
use cudainfer_kernels::zones::{Anchor, Zone, ZoneKind};

/// An example of a zone, for error messages.
pub(super) const EXAMPLE: &str = "door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570";

/// Reads the zones of the property.
///
/// # Errors
/// A sentence with the part that is wrong.
pub(super) fn zones(text: &str) -> Result<Vec<Zone>, String> {
    text.split(';').map(str::trim).filter(|part| !part.is_empty()).map(zone).collect()
}

fn zone(text: &str) -> Result<Zone, String> {
    let named = text.split_once('=').filter(|(name, _)| !name.contains(':'));
    let (name, rest) = named.ok_or_else(|| {
        format!("'{text}' has no name: zones are written NAME=KIND:POINTS, as in {EXAMPLE}")
    })?;
    let name = name.trim();
    let wrong = |why: String| format!("zone '{name}': {why}");
    let mut parts = rest.split(':').map(str::trim);
    let kind = match parts.next() {
        Some("line") => ZoneKind::Line,
        Some("polygon") => ZoneKind::Polygon,
        other => {
            let other = other.unwrap_or_default();
            return Err(wrong(format!(
                "'{other}' is not a kind of zone: use line or polygon, as in {EXAMPLE}"
            )));
        }
    };
    let points = parts.next().unwrap_or_default();
    let mut zone = Zone::new(name, kind, self::points(points).map_err(wrong)?);
    for option in parts {
        set(&mut zone, option).map_err(wrong)?;
    }
    Ok(zone)
}

/// `x,y,x,y`
fn points(text: &str) -> Result<Vec<[f64; 2]>, String> {
    let number = |part: &str| {
        let part = part.trim();
        part.parse::<f64>().map_err(|_| format!("'{part}' is not a number: points are written X1,Y1,X2,Y2"))
    };
    let numbers = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    let (pairs, rest) = numbers.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(format!("{} coordinates are not pairs: each point has an x and a y", numbers.len()));
    }
    Ok(pairs.to_vec())
}

/// `classes=person,car`, `anchor=center`, `dwell=30` or `occupancy=5`
fn set(zone: &mut Zone, option: &str) -> Result<(), String> {
    let (key, value) = option.split_once('=').unwrap_or((option, ""));
    let value = value.trim();
    match key.trim() {
        "classes" => {
            zone.classes =
                value.split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect();
        }
        "anchor" => {
            let anchor = Anchor::of_word(value)
                .ok_or_else(|| format!("'{value}' is not an anchor: use one of {}", Anchor::list()))?;
            zone.anchor = Some(anchor);
        }
        "dwell" => {
            let seconds =
                value.parse().map_err(|_| format!("dwell: '{value}' is not a number of seconds"))?;
            zone.dwell = Some(dwell(seconds)?);
        }
        "occupancy" => {
            let most =
                value.parse().map_err(|_| format!("occupancy: '{value}' is not a number of objects"))?;
            zone.occupancy = Some(occupancy(most)?);
        }
        _ => {
            return Err(format!("'{option}' is not an option: use classes, anchor, dwell or occupancy"));
        }
    }
    Ok(())
}

/// Seconds, in ns.
///
/// # Errors
/// None that can be.
pub(super) fn dwell(seconds: f64) -> Result<u64, String> {
    let time = std::time::Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    let ns = time.and_then(|time| u64::try_from(time.as_nanos()).ok());
    ns.ok_or_else(|| format!("dwell must be a number of seconds above 0, not {seconds}"))
}

/// A number of objects.
///
/// # Errors
/// None at all, which is always reached.
pub(super) fn occupancy(most: u32) -> Result<u32, String> {
    (most > 0).then_some(most).ok_or_else(|| "occupancy must be a number of objects above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_read_with_their_options_and_with_spaces() {
        let text = " door = line: 1, 2.5, -3,4e1 ;yard=polygon:0,0,9,0,9,9:classes=person, 2:anchor=top-left\
                    :dwell=1.5:occupancy=3;;";
        let [door, yard] = &super::zones(text).unwrap()[..] else { panic!("there are two zones") };
        assert_eq!(door, &Zone::new("door", ZoneKind::Line, vec![[1.0, 2.5], [-3.0, 40.0]]));
        assert_eq!((yard.name.as_str(), yard.kind, yard.points.len()), ("yard", ZoneKind::Polygon, 3));
        assert_eq!(yard.classes, ["person", "2"]);
        assert_eq!(yard.anchor, Some(Anchor::TopLeft));
        assert_eq!((yard.dwell, yard.occupancy), (Some(1_500_000_000), Some(3)));
        assert_eq!(super::zones(" ; "), Ok(vec![]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, parts) in [
            ("line:1,2,3,4", &["'line:1,2,3,4' has no name", "NAME=KIND:POINTS"][..]),
            ("polygon:0,0,9,0,9,9:classes=a", &["has no name"]),
            ("a=circle:1,2,3", &["zone 'a'", "'circle'", "line or polygon"]),
            ("a=", &["zone 'a'", "'' is not a kind"]),
            ("a=line:1,2,3,4O", &["zone 'a'", "'4O' is not a number"]),
            ("a=line", &["zone 'a'", "'' is not a number"]),
            ("a=line:1,2,3", &["zone 'a'", "3 coordinates"]),
            ("a=line:1,2,3,4:class=b", &["zone 'a'", "'class=b' is not an option", "classes, anchor"]),
            ("a=line:1,2,3,4:anchor=foot", &["'foot' is not an anchor", "bottom-center"]),
            ("a=line:1,2,3,4:dwell=long", &["'long'", "seconds"]),
            ("a=line:1,2,3,4:dwell=0", &["above 0"]),
            ("a=line:1,2,3,4:dwell=-1", &["above 0, not -1"]),
            ("a=line:1,2,3,4:occupancy=-1", &["'-1'", "number of objects"]),
            ("a=line:1,2,3,4:occupancy=0", &["above 0"]),
        ] {
            let error = super::zones(text).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{text}: '{part}' is not in: {error}");
            }
        }
    }
}
