//! Zones as the property writes them: `door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570:classes=person:dwell=30`, and the
//! ground: `ground=plane:812,378,1114,378,1862,1026,58,1026:metres=7,40`.

use cudainfer_kernels::ground::{GroundMap, Metres};
use cudainfer_kernels::words::Words as _;
use cudainfer_kernels::zones::{Anchor, GroundParams, Zone, ZoneKind};

/// The property's word for no zones yet: they are drawn later.
pub(super) const NONE: &str = "none";

/// An example of a zone, for error messages.
pub(super) const EXAMPLE: &str = "door=line:100,400,500,400;yard=polygon:0,300,600,300,600,570";

/// An example of the ground.
const PLANE: &str = "ground=plane:812,378,1114,378,1862,1026,58,1026:metres=7,40";

/// Reads the zones of the property, and the ground, if it is among them.
///
/// # Errors
/// A sentence with the part that is wrong.
pub(super) fn zones(text: &str) -> Result<(Vec<Zone>, Option<GroundParams>), String> {
    let (mut zones, mut ground) = (Vec::new(), None);
    for text in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let named = text.split_once('=').filter(|(name, _)| !name.contains(':'));
        let (name, rest) = named.ok_or_else(|| {
            format!("'{text}' has no name: zones are written NAME=KIND:POINTS, as in {EXAMPLE}")
        })?;
        let kind = rest.split(':').next().unwrap_or_default().trim();
        if kind != "plane" {
            zones.push(zone(name.trim(), rest)?);
        } else if name.trim() != "ground" {
            return Err(format!(
                "'{}' is a plane, and the only plane is the ground: write it as in {PLANE}",
                name.trim()
            ));
        } else if ground.replace(plane(rest).map_err(|why| format!("ground: {why}"))?).is_some() {
            return Err("there are two grounds, and a frame has one: leave one of them out".to_owned());
        }
    }
    Ok((zones, ground))
}

/// `plane:X1,Y1,…,X4,Y4:metres=7,40:anchor=center`
fn plane(text: &str) -> Result<GroundParams, String> {
    let mut parts = text.split(':').map(str::trim).skip(1);
    let frame = points(parts.next().unwrap_or_default())?;
    let (mut metres, mut anchor) = (None, None);
    for option in parts {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match (key.trim(), value.trim()) {
            ("anchor", word) => anchor = Some(self::anchor(word)?),
            ("metres", list) => {
                let places = points(list).map_err(|why| format!("metres: {why}"))?;
                metres = Some(match places[..] {
                    [sides] => Metres::Rectangle(sides),
                    _ => Metres::Places(places),
                });
            }
            _ => return Err(format!("'{option}' is not an option of the ground: use metres or anchor")),
        }
    }
    let metres = metres.ok_or_else(|| {
        format!("it has no metres, which say where its points are: write width and length of the rectangle, as in {PLANE}")
    })?;
    Ok(GroundParams {
        map: GroundMap::Points { frame, metres },
        units: None,
        anchor: anchor.unwrap_or_default(),
    })
}

/// A point of a box.
fn anchor(word: &str) -> Result<Anchor, String> {
    Anchor::of_word(word).ok_or_else(|| format!("'{word}' is not an anchor: use one of {}", Anchor::list()))
}

fn zone(name: &str, rest: &str) -> Result<Zone, String> {
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

/// An option, such as `classes=person,car`, `anchor=center` or `dwell=30`.
fn set(zone: &mut Zone, option: &str) -> Result<(), String> {
    let (key, value) = option.split_once('=').unwrap_or((option, ""));
    let value = value.trim();
    let number = |key: &str, of: &str| {
        value.parse::<f64>().map_err(|_| format!("{key}: '{value}' is not a number of {of}"))
    };
    let count = |key: &str, of: &str| {
        value.parse::<u32>().map_err(|_| format!("{key}: '{value}' is not a number of {of}"))
    };
    match key.trim() {
        "classes" => {
            zone.classes =
                value.split(',').map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect();
        }
        "anchor" => {
            zone.anchor = Some(anchor(value)?);
        }
        "hole" => zone.holes.push(points(value).map_err(|why| format!("hole: {why}"))?),
        "inertia" => zone.inertia = Some(inertia(count("inertia", "frames")?)?),
        "dwell" => zone.dwell = Some(seconds("dwell", number("dwell", "seconds")?)?),
        "loitering" => zone.loitering = Some(seconds("loitering", number("loitering", "seconds")?)?),
        "occupancy" => zone.occupancy = Some(occupancy(count("occupancy", "objects")?)?),
        "min-speed" => zone.min_speed = Some(above_zero("min-speed", number("min-speed", "m/s")?)?),
        "max-speed" => zone.max_speed = Some(above_zero("max-speed", number("max-speed", "m/s")?)?),
        _ => {
            return Err(format!(
                "'{option}' is not an option: use classes, anchor, hole, inertia, dwell, loitering, occupancy, min-speed or max-speed"
            ));
        }
    }
    Ok(())
}

/// The time `name` in ns, of seconds.
///
/// # Errors
/// None that can be.
pub(super) fn seconds(name: &str, seconds: f64) -> Result<u64, String> {
    let time = std::time::Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    let ns = time.and_then(|time| u64::try_from(time.as_nanos()).ok());
    ns.ok_or_else(|| format!("{name} must be a number of seconds above 0, not {seconds}"))
}

/// The speed `name` in m/s.
///
/// # Errors
/// None that is above 0.
pub(super) fn above_zero(name: &str, speed: f64) -> Result<f64, String> {
    let possible = speed.is_finite() && speed > 0.0;
    possible.then_some(speed).ok_or_else(|| format!("{name} must be a number of m/s above 0, not {speed}"))
}

/// A number of frames.
///
/// # Errors
/// None at all, after which nothing would have happened yet, and more than any object is seen.
pub(super) fn inertia(frames: u32) -> Result<u32, String> {
    (1..=1000)
        .contains(&frames)
        .then_some(frames)
        .ok_or_else(|| format!("inertia must be a number of frames from 1 to 1000, not {frames}"))
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
                    :dwell=1.5:occupancy=3:hole=2,1,3,1,3,2 : hole=5,1,6,1,6,2:inertia=4:loitering=60\
                    :min-speed=8.5:max-speed=20;;";
        let [door, yard] = &super::zones(text).unwrap().0[..] else { panic!("there are two zones") };
        assert_eq!(door, &Zone::new("door", ZoneKind::Line, vec![[1.0, 2.5], [-3.0, 40.0]]));
        assert_eq!((yard.name.as_str(), yard.kind, yard.points.len()), ("yard", ZoneKind::Polygon, 3));
        assert_eq!(yard.classes, ["person", "2"]);
        assert_eq!(yard.anchor, Some(Anchor::TopLeft));
        assert_eq!((yard.dwell, yard.occupancy), (Some(1_500_000_000), Some(3)));
        assert_eq!((yard.inertia, yard.loitering), (Some(4), Some(60_000_000_000)));
        assert_eq!((yard.min_speed, yard.max_speed), (Some(8.5), Some(20.0)));
        let holes = [[[2.0, 1.0], [3.0, 1.0], [3.0, 2.0]], [[5.0, 1.0], [6.0, 1.0], [6.0, 2.0]]];
        assert_eq!(yard.holes, holes);
        assert_eq!(super::zones(" ; "), Ok((vec![], None)));
    }

    #[test]
    fn the_ground_is_read_beside_zones_also_one_that_has_its_name() {
        let text =
            "ground=polygon:0,0,9,0,9,9;ground = plane: 1,2,3,2,4,5,0,5 : metres = 7, 40 :anchor=center";
        let (zones, ground) = super::zones(text).unwrap();
        assert_eq!((zones.len(), zones[0].name.as_str(), zones[0].kind), (1, "ground", ZoneKind::Polygon));
        let frame = vec![[1.0, 2.0], [3.0, 2.0], [4.0, 5.0], [0.0, 5.0]];
        let map = GroundMap::Points { frame: frame.clone(), metres: Metres::Rectangle([7.0, 40.0]) };
        assert_eq!(ground, Some(GroundParams { map, units: None, anchor: Anchor::Center }));
        let places = vec![[0.0, 0.0], [7.0, 0.0], [7.0, 40.0], [0.0, 40.0]];
        let (_, ground) = super::zones("ground=plane:1,2,3,2,4,5,0,5:metres=0,0,7,0,7,40,0,40").unwrap();
        let map = GroundMap::Points { frame, metres: Metres::Places(places) };
        assert_eq!(ground, Some(GroundParams { map, units: None, anchor: Anchor::default() }));
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
            ("a=line:1,2,3,4:inertia=0", &["inertia", "from 1 to 1000, not 0"]),
            ("a=line:1,2,3,4:inertia=1.5", &["inertia: '1.5' is not a number of frames"]),
            ("a=polygon:0,0,9,0,9,9:hole=1,2,3", &["zone 'a': hole: 3 coordinates"]),
            ("a=polygon:0,0,9,0,9,9:loitering=0", &["loitering", "above 0"]),
            ("a=polygon:0,0,9,0,9,9:min-speed=fast", &["min-speed: 'fast' is not a number of m/s"]),
            (
                "road=plane:1,2,3,2,4,5,0,5:metres=7,40",
                &["'road' is a plane", "the only plane is the ground"],
            ),
            ("ground=plane:1,2,3,2,4,5,0,5", &["ground: it has no metres", "metres=7,40"]),
            ("ground=plane:1,2,3,2,4,5,0,5:metres=7", &["ground: metres: 1 coordinates are not pairs"]),
            ("ground=plane:1,2,3,2,4,5,0,5:metres=7,wide", &["ground: metres: 'wide' is not a number"]),
            (
                "ground=plane:1,2,3,2,4,5,0,5:metres=7,40:dwell=3",
                &["'dwell=3' is not an option of the ground"],
            ),
            ("ground=plane:1,2,3,2,4,5,0,5:metres=7,40:anchor=foot", &["ground: 'foot' is not an anchor"]),
            ("ground=plane:0,0,1,0:metres=1,1;ground=plane:0,0,1,0:metres=1,1", &["two grounds"]),
            ("a=polygon:0,0,9,0,9,9:max-speed=-2", &["max-speed", "above 0, not -2"]),
        ] {
            let error = super::zones(text).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{text}: '{part}' is not in: {error}");
            }
        }
    }

    #[test]
    fn fuzz_zones() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "zones")
            .with_ratio(100) // a zone of ten bytes is a struct of 300
            .run_text(|text| drop(zones(text)));
    }
}
