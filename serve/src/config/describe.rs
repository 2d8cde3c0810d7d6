//! `[describe]`: events in words, by a model that looks at their pictures.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cudainfer_brokers::{BrokerKind, Destination, https};
use cudainfer_model::mistakes::nearest;
use serde::Deserialize;

use super::event_kinds::{TRACK, check_kinds, has, has_kind};
use super::template::{fill, keys};
use super::token::read_bearer;

/// What the prompt may name.
const NAMES: [&str; 4] = ["class", "zone", "kind", "stream"];
/// Characters of a name in the prompt: they come from models and from clients.
const LONGEST_NAME: usize = 200;
/// The path that is asked, below the URL.
const PATH: &str = "/chat/completions";

/// `[describe]`: where events are described, and which.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DescribeSettings {
    /// The base URL of an API as OpenAI's.
    pub url: String,
    /// The model.
    pub model: String,
    /// What is asked about a picture.
    pub prompt: String,
    /// File with the key that is sent.
    pub key_file: Option<PathBuf>,
    /// Authorities that are trusted instead of the system's, PEM.
    pub tls_ca: Option<PathBuf>,
    /// The streams whose events are described; all if not set.
    pub streams: Option<Vec<String>>,
    /// The zones; all if not set.
    pub zones: Option<Vec<String>>,
    /// The classes; all if not set.
    pub classes: Option<Vec<String>>,
    /// The kinds of events; all those of zones if not set.
    pub kinds: Option<Vec<String>>,
    /// Seconds that a request may take.
    pub timeout: f64,
    /// Seconds that an event waits for the best picture of its track.
    pub wait: f64,
    /// Events that may wait.
    pub queue: usize,
    /// Requests at a time.
    pub parallel: usize,
    /// The most characters of a description.
    pub characters: usize,
    /// The most tokens of an answer, if the server should have a limit.
    pub max_tokens: Option<u32>,
}

impl Default for DescribeSettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            model: String::new(),
            prompt: "This is a picture of a camera: {kind}, a {class} in the zone {zone}. Describe in one or two sentences what it \
                     shows. Name only what can be seen."
                .to_owned(),
            key_file: None,
            tls_ca: None,
            streams: None,
            zones: None,
            classes: None,
            kinds: None,
            timeout: 60.0,
            wait: 10.0,
            queue: 32,
            parallel: 1,
            characters: 1000,
            max_tokens: None,
        }
    }
}

impl DescribeSettings {
    /// What is wrong with it: the key, and a sentence.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let destination = Destination::parse(&self.url).ok().filter(|found| found.kind == BrokerKind::Http);
        let Some(destination) = destination.filter(|_| !self.url.contains(['?', '#'])) else {
            let sentence = "url is not the base URL of a server: write one with http or https and a host, without user, password and \
                            query, such as \"http://127.0.0.1:11434/v1\"";
            return Err(("url", sentence.to_owned()));
        };
        if self.url.trim_end_matches('/').ends_with(PATH) {
            let sentence = format!("url ends with {PATH}, which is added to it: leave that out");
            return Err(("url", sentence));
        }
        if self.model.trim().is_empty() {
            let sentence =
                "model is not set: write the name that the server has for it, such as \"qwen2.5vl:7b\"";
            return Err(("model", sentence.to_owned()));
        }
        if self.prompt.trim().is_empty() {
            return Err((
                "prompt",
                "prompt is empty: write what is asked about a picture, or leave it out".into(),
            ));
        }
        if let Some(name) = keys(&self.prompt).into_iter().find(|name| !NAMES.contains(name)) {
            let sentence = match nearest(name, NAMES) {
                Some(near) => format!(
                    "prompt has {{{name}}}, which is nothing of an event: {{{near}}} is probably meant"
                ),
                None => format!(
                    "prompt has {{{name}}}, which is nothing of an event: expected {{class}}, {{zone}}, {{kind}} or {{stream}}"
                ),
            };
            return Err(("prompt", sentence));
        }
        check_kinds(self.kinds.as_ref(), &[TRACK])?;
        for (key, value, least, most) in
            [("timeout", self.timeout, 0.1, 3600.0), ("wait", self.wait, 0.0, 3600.0)]
        {
            if !(least..=most).contains(&value) {
                return Err((key, format!("{key} = {value} is out of range: set {least} to {most}")));
            }
        }
        for (key, value, most) in [
            ("queue", self.queue, 1000),
            ("parallel", self.parallel, 8),
            ("characters", self.characters, 10_000),
        ] {
            if !(1..=most).contains(&value) {
                return Err((key, format!("{key} = {value} is out of range: set 1 to {most}")));
            }
        }
        if self.max_tokens == Some(0) {
            return Err((
                "max-tokens",
                "max-tokens = 0 leaves no answer: set 1 or more, or leave it out".into(),
            ));
        }
        if self.tls_ca.is_some() && !destination.tls {
            return Err((
                "tls-ca",
                "tls-ca is set, but url is not encrypted: set url to one with https".into(),
            ));
        }
        if destination.tls {
            https::trusting("tls-ca", self.tls_ca.as_deref()).map_err(|e| ("tls-ca", e.to_string()))?;
        }
        self.key().map(drop).map_err(|sentence| ("key-file", sentence))
    }

    /// The address of requests.
    pub fn address(&self) -> String {
        format!("{}{PATH}", self.url.trim_end_matches('/'))
    }

    /// Whether the address is one with TLS.
    pub fn is_encrypted(&self) -> bool {
        self.url.starts_with("https:")
    }

    /// The key.
    ///
    /// # Errors
    /// A sentence: the file cannot be read, others can read it, or its first line is no key.
    pub fn key(&self) -> Result<Option<String>, String> {
        self.key_file.as_deref().map(read_key).transpose()
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.timeout).unwrap_or(Duration::from_secs(60))
    }

    /// How long an event waits for the best picture of its track.
    pub fn wait(&self) -> Duration {
        Duration::try_from_secs_f64(self.wait).unwrap_or_default()
    }

    /// The prompt for an event.
    pub fn prompt_for(&self, stream: &str, zone: Option<&str>, kind: &str, class: Option<&str>) -> String {
        let plain =
            |text: &str| text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect::<String>();
        let values = [
            ("class", plain(class.unwrap_or("object"))),
            ("zone", plain(zone.unwrap_or("none"))),
            ("kind", plain(kind)),
            ("stream", plain(stream)),
        ];
        fill(&self.prompt, &BTreeMap::from(values.map(|(name, value)| (name.to_owned(), value))))
    }

    /// Whether events of this stream, zone, kind and class are described.
    pub fn wants(&self, stream: &str, zone: Option<&str>, kind: &str, class: Option<&str>) -> bool {
        has_kind(self.kinds.as_ref(), kind)
            && has(self.streams.as_ref(), Some(stream))
            && has(self.zones.as_ref(), zone)
            && has(self.classes.as_ref(), class)
    }
}

/// The first line of a file that only the service and its group can read.
fn read_key(path: &Path) -> Result<String, String> {
    let key = read_bearer("key-file", "key", path)?;
    let mode = std::fs::metadata(path).map_or(0, |about| about.permissions().mode());
    if mode & 0o004 != 0 {
        return Err(format!(
            "key-file '{}' can be read by every user of this machine, who can use the key. Take that permission away: chmod o-rwx",
            path.display()
        ));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> DescribeSettings {
        DescribeSettings {
            url: "http://127.0.0.1:11434/v1/".into(),
            model: "m".into(),
            ..DescribeSettings::default()
        }
    }

    fn list(text: &str) -> Option<Vec<String>> {
        Some(vec![text.to_owned()])
    }

    type Change<'a> = &'a dyn Fn(&mut DescribeSettings);

    #[test]
    fn what_is_wrong_is_named_with_its_key_and_shows_no_secret() {
        assert_eq!(settings().check(), Ok(()));
        let with = |change: Change<'_>| {
            let mut settings = settings();
            change(&mut settings);
            settings.check().unwrap_err()
        };
        let cases: [(Change<'_>, &str, &str); 18] = [
            (&|s| s.url = String::new(), "url", "http or https"),
            (&|s| s.url = "mqtt://h/t".into(), "url", "http or https"),
            (&|s| s.url = "http://me:secret@h/v1".into(), "url", "without user"),
            (&|s| s.url = "http://h/v1?key=secret".into(), "url", "query"),
            (&|s| s.url = "http://h/v1/chat/completions/".into(), "url", "leave that out"),
            (&|s| s.model = " ".into(), "model", "model is not set"),
            (&|s| s.prompt = "\n".into(), "prompt", "prompt is empty"),
            (&|s| s.prompt = "a {clas}".into(), "prompt", "{class} is probably meant"),
            (&|s| s.prompt = "at {time-of-day}".into(), "prompt", "expected {class}, {zone}"),
            (&|s| s.kinds = list("entre"), "kinds", "'enter' is probably meant"),
            (&|s| s.kinds = list("description"), "kinds", "no kind 'description'"),
            (&|s| s.timeout = f64::NAN, "timeout", "set 0.1 to 3600"),
            (&|s| s.wait = -1.0, "wait", "set 0 to 3600"),
            (&|s| s.queue = 0, "queue", "set 1 to 1000"),
            (&|s| s.parallel = 9, "parallel", "set 1 to 8"),
            (&|s| s.characters = 0, "characters", "set 1 to 10000"),
            (&|s| s.max_tokens = Some(0), "max-tokens", "1 or more"),
            (&|s| s.tls_ca = Some("/nowhere/ca.pem".into()), "tls-ca", "not encrypted"),
        ];
        for (change, key, part) in cases {
            let (found, sentence) = with(change);
            assert!(found == key && sentence.contains(part), "{found}: {sentence}");
            assert!(!sentence.contains("secret"), "{sentence}");
        }
        let (key, sentence) =
            with(&|s| (s.url, s.tls_ca) = ("https://h/v1".into(), Some("/nowhere/ca.pem".into())));
        assert!(key == "tls-ca" && sentence.contains("'/nowhere/ca.pem' cannot be read"), "{sentence}");
    }

    #[test]
    fn a_key_is_the_first_line_of_a_file_that_others_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let write = |text: &str, mode| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let with_key = DescribeSettings { key_file: Some(file.clone()), ..settings() };
        write("sk-a-key\nsecond\n", 0o640);
        assert_eq!(with_key.key(), Ok(Some("sk-a-key".to_owned())));
        assert_eq!(settings().key(), Ok(None));
        for (text, mode, part) in [
            ("sk-a-key\n", 0o644, "chmod o-rwx"),
            ("", 0o600, "is no key"),
            ("\nsk-a-key", 0o600, "is no key"),
            ("sk a key", 0o600, "is no key"),
        ] {
            write(text, mode);
            let (key, sentence) = with_key.check().unwrap_err();
            assert!(key == "key-file" && sentence.contains(part) && !sentence.contains("sk-"), "{sentence}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(with_key.check().unwrap_err().1.contains("cannot be read"));
    }

    #[test]
    fn the_prompt_names_the_event_and_no_name_is_a_template() {
        let settings =
            DescribeSettings { prompt: "{kind} {class} {zone} {stream} {NV12}".into(), ..settings() };
        assert_eq!(settings.check(), Ok(()));
        let prompt = settings.prompt_for("door", Some("ga\nte {stream}"), "enter", Some("person"));
        assert_eq!(prompt, "enter person gate {stream} door {NV12}");
        assert_eq!(settings.prompt_for("door", None, "track", None), "track object none door {NV12}");
        assert_eq!(settings.address(), "http://127.0.0.1:11434/v1/chat/completions");
    }

    #[test]
    fn filters_are_all_to_fit() {
        let wants =
            |settings: DescribeSettings| settings.wants("door", Some("gate"), "enter", Some("person"));
        assert!(wants(settings()) && !settings().wants("door", None, TRACK, Some("person")));
        assert!(DescribeSettings { kinds: list(TRACK), ..settings() }.wants("door", None, TRACK, None));
        assert!(wants(DescribeSettings { zones: list("gate"), classes: list("person"), ..settings() }));
        assert!(!wants(DescribeSettings { streams: list("yard"), ..settings() }));
        assert!(!wants(DescribeSettings { classes: list("car"), ..settings() }));
        assert!(!wants(DescribeSettings { zones: list("yard"), ..settings() }));
        assert!(!wants(DescribeSettings { kinds: list("leave"), ..settings() }));
    }
}
