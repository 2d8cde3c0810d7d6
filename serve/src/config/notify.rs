//! `[[notify]]`: webhooks that get events.

use std::path::{Path, PathBuf};

use cudainfer_brokers::{BrokerKind, Destination};
use cudainfer_model::mistakes::nearest;
use serde::Deserialize;

use super::Size;

/// The kinds of events of zones.
const OF_ZONES: [&str; 8] = ["enter", "leave", "in", "out", "dwell", "loiter", "speed", "occupancy"];
/// The kind of an event that is the picture of a track.
pub const TRACK: &str = "track";
/// The least bytes of a spool: one picture has some hundred kilobytes.
const LEAST_SPOOL: u64 = 4_000_000;
/// The most characters of a token.
const LONGEST_TOKEN: usize = 4096;

/// `[[notify]]`: a webhook that gets events.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NotifySettings {
    /// Where each event is posted.
    pub url: String,
    /// The streams whose events it gets; all if not set.
    pub streams: Option<Vec<String>>,
    /// The zones; all if not set.
    pub zones: Option<Vec<String>>,
    /// The classes; all if not set.
    pub classes: Option<Vec<String>>,
    /// The kinds of events; all those of zones if not set.
    pub kinds: Option<Vec<String>>,
    /// File with the token that is sent.
    pub token_file: Option<PathBuf>,
    /// Authorities that are trusted instead of the system's, PEM.
    pub tls_ca: Option<PathBuf>,
    /// Whether the picture is sent.
    pub picture: bool,
    /// Bytes of the events that wait on the disk, where `state` is set.
    pub spool_size: Size,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            streams: None,
            zones: None,
            classes: None,
            kinds: None,
            token_file: None,
            tls_ca: None,
            picture: false,
            spool_size: Size(50_000_000),
        }
    }
}

impl NotifySettings {
    /// What is wrong with it: the key, and a sentence.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let destination = Destination::parse(&self.url);
        if !destination.is_ok_and(|destination| destination.kind == BrokerKind::Http) {
            let sentence = "url is not the URL of a webhook: write one with http or https and a host, without user and password";
            return Err(("url", sentence.to_owned()));
        }
        let known = || OF_ZONES.into_iter().chain([TRACK]);
        if let Some(kind) = self.kinds.iter().flatten().find(|kind| !known().any(|known| known == *kind)) {
            let sentence = match nearest(kind, known()) {
                Some(near) => format!("there is no kind '{kind}': '{near}' is probably meant"),
                None => {
                    format!("there is no kind '{kind}': expected {}", known().collect::<Vec<_>>().join(", "))
                }
            };
            return Err(("kinds", sentence));
        }
        if self.spool_size.0 < LEAST_SPOOL {
            let sentence =
                format!("spool-size = {} is too little: set {LEAST_SPOOL} or more", self.spool_size.0);
            return Err(("spool-size", sentence));
        }
        self.token().map(drop).map_err(|sentence| ("token-file", sentence))
    }

    /// The token.
    ///
    /// # Errors
    /// A sentence: the file cannot be read, or its first line is none.
    pub fn token(&self) -> Result<Option<String>, String> {
        self.token_file.as_deref().map(read_bearer).transpose()
    }

    /// Whether it gets events of this stream, zone, kind and class.
    pub fn wants(&self, stream: &str, zone: Option<&str>, kind: &str, class: Option<&str>) -> bool {
        let has = |wanted: &Option<Vec<String>>, found: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| Some(wanted.as_str()) == found))
        };
        let kinds = if self.kinds.is_some() { has(&self.kinds, Some(kind)) } else { kind != TRACK };
        kinds && has(&self.streams, Some(stream)) && has(&self.zones, zone) && has(&self.classes, class)
    }
}

/// The first line of a file: a header has it, so it is of ASCII without spaces.
fn read_bearer(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let text = cudainfer_files::text(path).map_err(|e| {
        format!("token-file '{shown}' cannot be read: {e}. Set token-file to a file that the service's user may read")
    })?;
    let token = text.lines().next().unwrap_or_default().trim();
    if token.is_empty() || token.len() > LONGEST_TOKEN || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "token-file '{shown}': its first line is no token. Expected 1 to {LONGEST_TOKEN} characters of ASCII without spaces"
        ));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> NotifySettings {
        NotifySettings { url: "https://hooks.example/x?key=1".into(), ..NotifySettings::default() }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key_and_shows_no_secret() {
        let list = |text: &str| Some(vec![text.to_owned()]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "abc\r\nX-Header: y").unwrap();
        assert_eq!(hook().check(), Ok(()));
        let with_token = NotifySettings { token_file: Some(file.clone()), ..hook() };
        assert_eq!(with_token.token(), Ok(Some("abc".to_owned())));
        std::fs::write(&file, "a b").unwrap();
        for (wrong, key, part) in [
            (NotifySettings { url: String::new(), ..hook() }, "url", "http or https"),
            (NotifySettings { url: "mqtt://h/t".into(), ..hook() }, "url", "http or https"),
            (NotifySettings { url: "http://me:secret@h/".into(), ..hook() }, "url", "without user"),
            (NotifySettings { kinds: list("entre"), ..hook() }, "kinds", "'enter' is probably meant"),
            (NotifySettings { spool_size: Size(1), ..hook() }, "spool-size", "4000000"),
            (with_token, "token-file", "is no token"),
        ] {
            let (found, sentence) = wrong.check().unwrap_err();
            assert!(
                found == key && sentence.contains(part) && !sentence.contains("secret"),
                "{found}: {sentence}"
            );
        }
    }

    #[test]
    fn filters_are_all_to_fit() {
        let list = |text: &str| Some(vec![text.to_owned()]);
        let wants = |hook: &NotifySettings| hook.wants("door", Some("gate"), "enter", Some("person"));
        assert!(wants(&hook()) && !hook().wants("door", None, TRACK, Some("person")));
        assert!(NotifySettings { kinds: list(TRACK), ..hook() }.wants("door", None, TRACK, None));
        for (fits, hook) in [
            (
                true,
                NotifySettings {
                    streams: list("door"),
                    zones: list("gate"),
                    classes: list("person"),
                    ..hook()
                },
            ),
            (false, NotifySettings { streams: list("yard"), ..hook() }),
            (false, NotifySettings { zones: list("yard"), ..hook() }),
            (false, NotifySettings { classes: list("car"), ..hook() }),
            (false, NotifySettings { kinds: list("leave"), ..hook() }),
        ] {
            assert_eq!(wants(&hook), fits, "{hook:?}");
        }
    }
}
