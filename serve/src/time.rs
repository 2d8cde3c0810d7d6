//! Times: milliseconds since 1970 here, RFC 3339 where others see them.

use gst::glib::{DateTime, TimeZone};

/// Now.
pub fn milliseconds() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// UTC, as `2026-11-23T07:45:01.250Z`. A time that no calendar has is that of 1970.
pub fn time_text(milliseconds: i64) -> String {
    let text =
        DateTime::from_unix_utc(milliseconds.div_euclid(1000)).and_then(|t| t.format("%Y-%m-%dT%H:%M:%S"));
    let text = text.map_or_else(|_| "1970-01-01T00:00:00".into(), String::from);
    format!("{text}.{:03}Z", milliseconds.rem_euclid(1000))
}

/// Such a text without characters that some file systems do not allow: `20261123T074501.250Z`. Names of files sort as their times.
pub fn in_file_name(time: &str) -> String {
    time.chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

/// Reads what [`time_text`] writes, and other times of RFC 3339; those without a zone are UTC.
///
/// # Errors
/// A sentence with the parameter's name.
pub fn read_time(name: &str, text: &str) -> Result<i64, String> {
    let wrong = || format!("{name}='{text:.64}' is no time: expected one such as 2026-11-29T13:00:00Z");
    // glib takes no text with a zero in it.
    if text.contains('\0') {
        return Err(wrong());
    }
    // A + that is not written %2B comes as a space.
    let time =
        DateTime::from_iso8601(&text.replace(' ', "+"), Some(&TimeZone::utc())).map_err(|_| wrong())?;
    let seconds = time.to_unix().checked_mul(1000).ok_or_else(wrong)?;
    Ok(seconds + i64::from(time.microsecond() / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_sort_as_their_times() {
        assert_eq!(in_file_name("2026-11-23T07:45:01.250Z"), "20261123T074501.250Z");
        let now = time_text(milliseconds());
        assert!(now.len() == 24 && now.ends_with('Z'), "{now}");
    }

    #[test]
    fn times_read_as_they_are_written() {
        for (text, milliseconds) in [
            ("2026-11-23T07:45:01.250Z", 1_795_419_901_250),
            ("2026-11-23T08:45:01.250+01:00", 1_795_419_901_250),
            ("2026-11-23T08:45:01.250 01:00", 1_795_419_901_250),
            ("2026-11-23T07:45:01", 1_795_419_901_000),
        ] {
            assert_eq!(read_time("from", text), Ok(milliseconds), "{text}");
        }
        assert_eq!(time_text(1_795_419_901_250), "2026-11-23T07:45:01.250Z");
        for text in
            ["", "yesterday", "1795419901", "2026-13-01T00:00:00Z", "\0", "2026-11-23T07:45:01Z; DROP"]
        {
            assert!(read_time("from", text).unwrap_err().starts_with("from='"), "{text}");
        }
    }
}
