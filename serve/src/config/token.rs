//! Files with a secret: of `token-file`, which clients have, and those that are sent to other servers.

use std::path::Path;

/// The fewest and most characters of a token.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=1024;

/// Reads the token, which is the first line of a file.
///
/// # Errors
/// A sentence: it cannot be read, or the token is too short, too long or has characters that a header cannot have.
pub fn read_token(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = cudainfer_files::text(path).map_err(|e| {
        format!("token-file '{shown}' cannot be read: {e}. Set token-file to a file that the service's user may read")
    })?;
    let token = text.lines().next().unwrap_or_default().trim();
    if !LENGTH.contains(&token.len()) || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "token-file '{shown}': its first line has {} characters. Expected {} to {} of ASCII without spaces: make one with \
             openssl rand -hex 32",
            token.len(),
            LENGTH.start(),
            LENGTH.end()
        ));
    }
    Ok(token.to_owned())
}

/// The most characters of a secret that is sent to another server.
const LONGEST_BEARER: usize = 4096;

/// The first line of a file, for `Authorization: Bearer`: a header has it, so it is of ASCII without spaces. `setting` names the file,
/// and `secret` is what it should have.
///
/// # Errors
/// A sentence: the file cannot be read, or its first line is none.
pub(super) fn read_bearer(setting: &str, secret: &str, path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = cudainfer_files::text(path).map_err(|e| {
        format!("{setting} '{shown}' cannot be read: {e}. Set {setting} to a file that the service's user may read")
    })?;
    let bearer = text.lines().next().unwrap_or_default().trim();
    if bearer.is_empty() || bearer.len() > LONGEST_BEARER || !bearer.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "{setting} '{shown}': its first line is no {secret}. Expected 1 to {LONGEST_BEARER} characters of ASCII without spaces"
        ));
    }
    Ok(bearer.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_are_short_or_missing_are_refused_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for text in ["", "short\n", "has spaces in its sixteen\n", "0123456789abcdé0\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(read_token(&path).unwrap_err().contains("openssl rand"), "{text:?}");
        }
        std::fs::write(&path, "\u{feff}0123456789abcdef\nsecond line\n").unwrap();
        assert_eq!(read_token(&path).unwrap(), "0123456789abcdef");
        let fifo = folder.path().join("fifo");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
        for path in [folder.path().join("none"), folder.path().to_owned(), fifo] {
            assert!(read_token(&path).unwrap_err().contains("cannot be read"));
        }
    }
}
