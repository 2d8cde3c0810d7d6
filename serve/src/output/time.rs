//! The time of day, in texts and in names of files.

use gst::glib::DateTime;

/// UTC, as `2026-11-23T07:45:01.250Z`.
pub fn now() -> String {
    let text = DateTime::now_utc().and_then(|now| {
        let seconds = now.format("%Y-%m-%dT%H:%M:%S")?;
        Ok(format!("{seconds}.{:03}Z", now.microsecond() / 1000))
    });
    // This fails only for years above 9999.
    text.unwrap_or_default()
}

/// The time without characters that some file systems do not allow: `20261123T074501.250Z`.
pub fn in_file_name(time: &str) -> String {
    time.chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_sort_as_their_times() {
        assert_eq!(in_file_name("2026-11-23T07:45:01.250Z"), "20261123T074501.250Z");
        let now = now();
        assert!(now.len() == 24 && now.ends_with('Z'), "{now}");
    }
}
