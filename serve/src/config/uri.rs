//! URIs, which are not printed whole because they may have passwords in them.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// What is shown instead of something hidden.
const HIDDEN: &str = "…";

/// Shorter parts of a URI are not looked for in texts: they would be found in every word.
const SHORTEST: usize = 4;

/// A URI. Printing and serializing leave out user, password and query; [`Uri::whole`] has all.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Uri(String);

impl Uri {
    /// All of it: for GStreamer, and for the service's own state.
    pub fn whole(&self) -> &str {
        &self.0
    }

    /// Serializes all of it, for the service's own state.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize_whole<S: Serializer>(uri: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&uri.0)
    }

    /// A text from elsewhere, such as GStreamer's, without this URI's user, password and query, whole or in parts.
    pub fn hide_in(&self, text: &str) -> String {
        redacted(&hide(text, self.secrets()))
    }

    /// The scheme, and the rest after "://". If the first part is no scheme, the "://" may be in a password.
    fn parts(&self) -> Option<(&str, &str)> {
        self.0.split_once("://").filter(|(scheme, _)| scheme.chars().all(is_of_scheme))
    }

    /// The parts of the URI that must not be seen; none if all of it may be.
    fn secrets(&self) -> Vec<String> {
        let Some((scheme, rest)) = self.parts().filter(|(scheme, _)| !is_open(scheme)) else {
            return Vec::new();
        };
        if self.to_string() == self.0 {
            return Vec::new();
        }
        let (before, after) = rest.rsplit_once('@').unwrap_or(("", rest));
        // If a password has separators in it, GStreamer takes a part of it for the host, the path or the query. And an @ may be
        // in a query.
        let query =
            |text: &str| text.split_once(['?', '#']).map(|(_, query)| query.to_owned()).unwrap_or_default();
        let whole = [before.to_owned(), query(after), query(rest)];
        let mut secrets = vec![format!("{scheme}://{rest}")];
        let parts = whole.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
        secrets.extend(parts.map(str::to_owned));
        secrets.extend(whole);
        secrets
    }
}

impl From<String> for Uri {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Uri {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            Some((scheme, rest)) if is_open(scheme) && (scheme == "test" || rest.starts_with('/')) => {
                f.write_str(&self.0)
            }
            Some((scheme, rest)) => write!(f, "{scheme}://{}", shown(rest).0),
            None => f.write_str(&shown(&self.0).0),
        }
    }
}

impl fmt::Debug for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for Uri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text without these secrets, in all spellings that GStreamer and its libraries use for them.
pub fn hide(text: &str, secrets: Vec<String>) -> String {
    let spelled = secrets.into_iter().flat_map(|secret| {
        let encoded = gst::glib::uri_escape_string(secret.replace('\0', ""), None::<&str>, false).to_string();
        [unescaped(&secret), encoded, secret]
    });
    let mut spelled: Vec<String> = spelled.filter(|secret| secret.chars().count() >= SHORTEST).collect();
    spelled.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    spelled.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
}

/// A text with each `%XX` decoded. GLib's own function panics, in its Rust binding, if the bytes are no UTF-8.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(part.get(2..).unwrap_or_default().as_bytes());
            }
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text in which URIs may be, without their users, passwords and queries.
pub fn redacted(text: &str) -> String {
    let (mut seen, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("://") {
        seen.push_str(before);
        seen.push_str("://");
        let scheme = before.rsplit(|c: char| !is_of_scheme(c)).next().unwrap_or_default();
        if is_open(scheme) {
            rest = after;
            continue;
        }
        let (shown, taken) = shown(after);
        seen.push_str(&shown);
        rest = &after[taken..];
    }
    seen.push_str(rest);
    seen
}

fn is_of_scheme(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+-.".contains(c)
}

/// Schemes whose URIs have no password.
fn is_open(scheme: &str) -> bool {
    matches!(scheme, "file" | "test")
}

/// The part of a URI after its scheme that may be seen, and how much of the text the URI is. A password may have any
/// characters, also those that should be encoded: so an `@` anywhere hides all before it, and if that `@` may be in a query,
/// the rest too.
fn shown(text: &str) -> (String, usize) {
    let end_from = |from: usize| {
        let ends = |c: char| c.is_whitespace() || "\"'<>".contains(c);
        text[from..].find(ends).map_or(text.len(), |at| from + at)
    };
    let Some(at) = text.rfind('@') else {
        let end = end_from(0);
        return (without_query(&text[..end]), end);
    };
    let end = end_from(at);
    if text[..at].contains(['?', '#']) {
        return (HIDDEN.to_owned(), end);
    }
    (without_query(&text[at + 1..end]), end)
}

fn without_query(text: &str) -> String {
    match text.find(['?', '#']) {
        Some(at) => format!("{}?{HIDDEN}", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_and_path_are_seen_and_nothing_else() {
        for (whole, seen) in [
            ("rtsp://user:pa@ss@host:554/a", "rtsp://host:554/a"),
            ("rtsp://user:pa/ss@host/a", "rtsp://host/a"),
            ("rtsp://user:pa ss@host/a", "rtsp://host/a"),
            ("rtsp://user:pa?ss@host/a", "rtsp://…"),
            ("http://host/a.m3u8?password=secret", "http://host/a.m3u8?…"),
            ("http://host/a?password=sec@ret", "http://…"),
            ("rtsp://host", "rtsp://host"),
            ("file:///a@b?c", "file:///a@b?c"),
            ("file://user:secret@host/a", "file://host/a"),
            ("test://ball?width=3", "test://ball?width=3"),
            ("user:secret@host/a", "host/a"),
            ("v4l2:///dev/video0", "v4l2:///dev/video0"),
        ] {
            let uri = Uri::from(whole);
            assert_eq!(uri.to_string(), seen);
            assert_eq!(serde_json::to_value(&uri).unwrap(), seen);
            assert_eq!((format!("{uri:?}"), uri.whole()), (format!("\"{seen}\""), whole));
        }
    }

    #[test]
    fn texts_with_uris_keep_their_other_words() {
        for (text, seen) in [
            ("cannot open rtsp://u:secret@host/a: 401", "cannot open rtsp://host/a: 401"),
            ("'http://host/a?key=secret' is gone", "'http://host/a?…' is gone"),
            ("file:///a@b and http://u:p@h/x are", "file:///a@b and http://h/x are"),
            ("a line with x=1 ! y", "a line with x=1 ! y"),
        ] {
            assert_eq!(redacted(text), seen);
        }
    }

    proptest! {
        #[test]
        fn no_password_is_printed_whatever_it_has_in_it(
            password in "[a-zA-Z0-9/?@: #%&=;,\"'<>]{0,8}Zq[0-9]{6}xW[a-zA-Z0-9/?@: #%&=;,\"'<>]{0,8}",
            form in 0..5,
        ) {
            let uri = Uri::from(match form {
                0 => format!("rtsp://admin:{password}@192.0.2.1:554/live?x=1"),
                1 => format!("rtsp://{password}@camera/live"),
                2 => format!("http://camera/a.m3u8?user=a&pwd={password}"),
                3 => format!("https://a:{password}@camera/?token={password}"),
                _ => format!("admin:{password}@camera/1"),
            });
            let parts = password.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| part.contains("Zq"));
            let secret = parts.max_by_key(|part| part.len()).unwrap();
            let mut printed = vec![uri.to_string(), format!("{uri:?}"), serde_json::to_string(&uri).unwrap()];
            if form < 4 {
                let whole = uri.whole();
                let encoded = gst::glib::uri_escape_string(password.as_str(), None::<&str>, false);
                let in_a_text = whole.replace([' ', '"', '\'', '<', '>'], "");
                printed.push(redacted(&format!("Could not open: {in_a_text}")));
                printed.push(uri.hide_in(&format!("{whole} ({encoded}) '{password}' failed: no host {secret}")));
            }
            for text in printed {
                prop_assert!(!text.contains(secret), "{}: {}", uri.whole(), text);
            }
        }
    }
}
