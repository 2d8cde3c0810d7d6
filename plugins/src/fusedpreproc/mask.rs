//! Polygons in which motion does not count: the property `motion-mask`.

/// An example of a list, for error messages.
const EXAMPLE: &str = "0,0,0.3,0,0.3,0.1,0,0.1";

/// The polygons of `x,y,x,y,x,y;...`, in fractions of the frame's width and height. They are written so, or in frame pixels if a number is
/// above 1.
///
/// # Errors
/// A sentence with the polygon that is wrong.
pub(super) fn polygons(text: &str, frame: [usize; 2]) -> Result<Vec<Vec<[f64; 2]>>, String> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    let all = parts.map(numbers).collect::<Result<Vec<_>, _>>()?;
    let is_pixels = all.iter().flatten().any(|number| *number > 1.0);
    let unit = if is_pixels { frame.map(|side| side.max(1) as f64) } else { [1.0; 2] };
    let points = |numbers: Vec<f64>| {
        let pair = |pair: &[f64]| match *pair {
            [x, y] => Some([x / unit[0], y / unit[1]]),
            _ => None,
        };
        numbers.chunks(2).filter_map(pair).collect()
    };
    Ok(all.into_iter().map(points).collect())
}

fn numbers(part: &str) -> Result<Vec<f64>, String> {
    let wrong = |why: &str| {
        format!(
            "motion-mask: '{part}' {why}. Write each polygon as X,Y,X,Y,X,Y of three corners or more, as in \"{EXAMPLE}\", in fractions of the \
             frame or in frame pixels"
        )
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let numbers = part.split(',').map(number).collect::<Option<Vec<_>>>();
    let numbers = numbers.ok_or_else(|| wrong("has a part that is not a number"))?;
    match numbers.len() {
        len if len % 2 == 1 => Err(wrong("has an x without a y")),
        len if len < 6 => Err(wrong("has fewer than three corners")),
        _ if numbers.iter().any(|number| *number < 0.0) => Err(wrong("has a corner outside of the frame")),
        _ => Ok(numbers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polygons_are_in_fractions_or_in_pixels_if_a_number_is_above_1() {
        let square = vec![[0.0, 0.0], [0.5, 0.0], [0.5, 0.25], [0.0, 0.25]];
        for text in ["0,0,0.5,0,0.5,0.25,0,0.25", "0,0, 100,0, 100,25, 0,25;"] {
            assert_eq!(polygons(text, [200, 100]).unwrap(), std::slice::from_ref(&square), "{text}");
        }
        assert_eq!(polygons("", [200, 100]).unwrap(), Vec::<Vec<[f64; 2]>>::new());
        assert_eq!(polygons("0,0,1,0,1,1;0,0,1,1,0,1", [200, 100]).unwrap().len(), 2);
    }

    #[test]
    fn wrong_polygons_are_refused_with_what_is_wrong() {
        for (text, why) in [
            ("0,0,1,1", "'0,0,1,1' has fewer than three corners"),
            ("0,0,1,1,0", "'0,0,1,1,0' has an x without a y"),
            ("0,0,1,a,0,1", "'0,0,1,a,0,1' has a part that is not a number"),
            ("0,0,1,1,0,inf", "not a number"),
            ("0,0,1,0,1,1;0,0,-1,1,0,1", "'0,0,-1,1,0,1' has a corner outside"),
        ] {
            let error = polygons(text, [200, 100]).unwrap_err();
            assert!(error.contains(why) && error.contains("Write each polygon"), "{error}");
        }
    }

    #[test]
    fn fuzz_motion_mask() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "motion_mask")
            .with_ratio(40) // a number of two bytes has eight, and is there twice
            .run_text(|text| drop(polygons(text, [640, 480])));
    }
}
