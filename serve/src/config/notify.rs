//! `[[notify]]`: webhooks that get events.

use std::path::PathBuf;

use cudainfer_brokers::{BrokerKind, Destination};
use serde::Deserialize;

use super::Size;
use super::event_kinds::{DESCRIPTION, TRACK, check_kinds, has, has_kind};
use super::token::read_bearer;

/// The least bytes of a spool: one picture has some hundred kilobytes.
const LEAST_SPOOL: u64 = 4_000_000;

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
        check_kinds(self.kinds.as_ref(), &[TRACK, DESCRIPTION])?;
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
        self.token_file.as_deref().map(|file| read_bearer("token-file", "token", file)).transpose()
    }

    /// Whether it gets events of this stream, zone, kind and class.
    pub fn wants(&self, stream: &str, zone: Option<&str>, kind: &str, class: Option<&str>) -> bool {
        has_kind(self.kinds.as_ref(), kind)
            && has(self.streams.as_ref(), Some(stream))
            && has(self.zones.as_ref(), zone)
            && has(self.classes.as_ref(), class)
    }
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
            (
                NotifySettings { kinds: list("descripton"), ..hook() },
                "kinds",
                "'description' is probably meant",
            ),
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
        // Receivers of before get no messages of a kind that they do not know.
        assert!(!hook().wants("door", Some("gate"), DESCRIPTION, Some("person")));
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
