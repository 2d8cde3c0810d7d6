//! What concerns the whole service.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::Size;

/// The least bytes of the history: some hundred entries are written together.
const LEAST_HISTORY: u64 = 4_000_000;

/// `[server]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ServerSettings {
    /// Where HTTP is answered.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// File with the token that requests must have.
    pub token_file: Option<PathBuf>,
    /// Certificate of the service, PEM.
    pub tls_cert: Option<PathBuf>,
    /// Its key, PEM.
    pub tls_key: Option<PathBuf>,
    /// Authorities of the clients' certificates, PEM.
    pub client_ca: Option<PathBuf>,
    /// Where RTSP is answered; nowhere if not set.
    #[serde(deserialize_with = "some_address")]
    pub rtsp: Option<SocketAddr>,
    /// The encoder of RTSP and HLS: the description of elements from `video/x-raw` to `video/x-h264`.
    pub encoder: String,
    /// Folder for changes by the API, recordings and snapshots.
    pub state: Option<PathBuf>,
    /// Whether what happened is kept in the folder `state`.
    pub history: bool,
    /// Bytes of what is kept of that.
    pub history_size: Size,
    /// Folder of the files that clients of the API may name as sources.
    pub files: Option<PathBuf>,
    /// Folder of the models that clients may choose, besides those that the configuration names.
    pub models: Option<PathBuf>,
    /// Where the page and the API may look for cameras: addresses to which probes by WS-Discovery are sent.
    pub discovery: Vec<SocketAddr>,
    /// How many streams there may be when a client adds one.
    pub most_streams: usize,
    /// Seconds until the streams must have ended after SIGTERM.
    pub stop_timeout: f64,
    /// The process ends if this many pipelines, of all streams, do not stop.
    pub most_left_behind: usize,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            token_file: None,
            tls_cert: None,
            tls_key: None,
            client_ca: None,
            rtsp: None,
            encoder: "x264enc tune=zerolatency speed-preset=veryfast key-int-max=60".into(),
            state: None,
            history: true,
            history_size: Size(256_000_000),
            files: None,
            models: None,
            discovery: vec![SocketAddr::from(([239, 255, 255, 250], 3702))],
            most_streams: 200,
            stop_timeout: 10.0,
            most_left_behind: 8,
        }
    }
}

impl ServerSettings {
    /// What is wrong with it: the key, and a sentence.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            let key = if self.tls_cert.is_some() { "tls-cert" } else { "tls-key" };
            return Err((key, "tls-cert and tls-key belong together: set both, or neither".into()));
        }
        if self.client_ca.is_some() && self.tls_cert.is_none() {
            return Err(("client-ca", "client-ca is for TLS: set tls-cert and tls-key, too".into()));
        }
        if !self.listen.ip().is_loopback() && self.token_file.is_none() && self.client_ca.is_none() {
            return Err((
                "listen",
                format!(
                    "{} can be reached by others, and nobody would be asked who they are. Set token-file or client-ca, or \
                     listen on 127.0.0.1",
                    self.listen
                ),
            ));
        }
        if let Some(rtsp) = self.rtsp.filter(|rtsp| !rtsp.ip().is_loopback())
            && self.token_file.is_none()
        {
            return Err((
                "rtsp",
                format!(
                    "{rtsp} can be reached by others, and nobody would be asked who they are. Set token-file, which is the password \
                     of the user cudainfer then, or 127.0.0.1"
                ),
            ));
        }
        if self.rtsp.is_some_and(|rtsp| rtsp.port() != 0 && rtsp == self.listen) {
            return Err((
                "rtsp",
                format!("rtsp and listen are both {}: give each a port of its own", self.listen),
            ));
        }
        if let Some(Err(sentence)) = self.token_file.as_deref().map(super::read_token) {
            return Err(("token-file", sentence));
        }
        for (key, file) in
            [("tls-cert", &self.tls_cert), ("tls-key", &self.tls_key), ("client-ca", &self.client_ca)]
        {
            if let Some(Err(e)) = file.as_deref().map(cudainfer_files::open) {
                let file = file.as_deref().unwrap_or(std::path::Path::new("")).display();
                let sentence = format!(
                    "{key} '{file}' cannot be read: {e}. Set {key} to a file that the service's user may read"
                );
                return Err((key, sentence));
            }
        }
        for (key, folder) in [("files", &self.files), ("models", &self.models)] {
            if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
                let sentence =
                    format!("there is no folder '{}': make it, or leave {key} out", folder.display());
                return Err((key, sentence));
            }
        }
        if let Some(wrong) = self.discovery.iter().find(|address| !address.is_ipv4() || address.port() == 0) {
            let sentence = format!(
                "'{wrong}' is no address for probes: expected addresses of IPv4 with ports, such as 239.255.255.250:3702"
            );
            return Err(("discovery", sentence));
        }
        if self.history_size.0 < LEAST_HISTORY {
            let sentence = format!(
                "history-size = {} is too little for a database: set {LEAST_HISTORY} or more, or history = false",
                self.history_size.0
            );
            return Err(("history-size", sentence));
        }
        if self.most_left_behind == 0 {
            return Err((
                "most-left-behind",
                "most-left-behind is 0, which would end the process at once: expected 1 or more".into(),
            ));
        }
        duration("stop-timeout", self.stop_timeout).map(drop)
    }

    /// Files with secrets that every user of the machine can read, a sentence each.
    pub fn exposed_secrets(&self) -> Vec<String> {
        let files = [("token-file", &self.token_file), ("tls-key", &self.tls_key)];
        let exposed = files.into_iter().filter_map(|(key, file)| {
            let file = file.as_ref()?;
            let mode = std::fs::metadata(file).ok()?.permissions().mode();
            (mode & 0o004 != 0).then(|| {
                format!(
                    "[server] {key} '{}' can be read by every user of this machine, who can use the service with it. Take that \
                     permission away: chmod o-rwx",
                    file.display()
                )
            })
        });
        exposed.collect()
    }

    /// How long the streams may take to end.
    pub fn stop_timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.stop_timeout).unwrap_or(Duration::from_secs(10))
    }
}

fn address<'de, D: Deserializer<'de>>(value: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(value)?;
    text.parse().map_err(|_| {
        Error::custom(format!(
            "'{text}' is no address of this machine with a port: write one such as 127.0.0.1:8080"
        ))
    })
}

fn some_address<'de, D: Deserializer<'de>>(value: D) -> Result<Option<SocketAddr>, D::Error> {
    address(value).map(Some)
}

/// `[restart]`: when a stream is started again, and after how long. Seconds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Restart {
    /// The stream is started again if no frame comes for this time.
    pub stall: f64,
    /// The first wait before a start.
    pub first: f64,
    /// The longest wait.
    pub longest: f64,
    /// The fraction of a wait by which it is made longer or shorter at random.
    pub jitter: f64,
    /// After frames have come for this time, the next wait is the first again.
    pub steady: f64,
    /// The stream is started again if the decoder fails this many times within a minute.
    pub decode_errors: u32,
}

impl Default for Restart {
    fn default() -> Self {
        Self { stall: 10.0, first: 1.0, longest: 60.0, jitter: 0.2, steady: 30.0, decode_errors: 50 }
    }
}

/// The least wait in seconds before a stream is started again: clients may set it, too, and a start takes a core for a moment.
const LEAST_WAIT: f64 = 0.1;

impl Restart {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        for (key, seconds) in
            [("stall", self.stall), ("first", self.first), ("longest", self.longest), ("steady", self.steady)]
        {
            duration(key, seconds)?;
        }
        if self.stall == 0.0 {
            return Err((
                "stall",
                "stall = 0 would start streams again and again: set a time above 0".into(),
            ));
        }
        if self.first < LEAST_WAIT {
            let sentence = format!(
                "first = {} would start a stream that fails without end: set {LEAST_WAIT} or more",
                self.first
            );
            return Err(("first", sentence));
        }
        if self.longest < self.first {
            return Err((
                "longest",
                format!("longest = {} is less than first = {}", self.longest, self.first),
            ));
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(("jitter", format!("jitter = {} is no part: set a number from 0 to 1", self.jitter)));
        }
        if self.decode_errors == 0 {
            return Err(("decode-errors", "decode-errors = 0 would end every stream: set 1 or more".into()));
        }
        Ok(())
    }

    /// These limits, with those that a source sets itself.
    #[must_use]
    pub fn with(&self, own: &RestartOfSource) -> Self {
        Self {
            stall: own.stall.unwrap_or(self.stall),
            first: own.first.unwrap_or(self.first),
            longest: own.longest.unwrap_or(self.longest),
            jitter: own.jitter.unwrap_or(self.jitter),
            steady: own.steady.unwrap_or(self.steady),
            decode_errors: own.decode_errors.unwrap_or(self.decode_errors),
        }
    }
}

/// `restart = { … }` of a source: what differs from `[restart]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RestartOfSource {
    /// As in [`Restart`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<f64>,
    /// As in [`Restart`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// As in [`Restart`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<f64>,
    /// As in [`Restart`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<f64>,
    /// As in [`Restart`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<f64>,
    /// As in [`Restart`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode_errors: Option<u32>,
}

/// `[retention]`: how much of the disk recordings and snapshots may take.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RetentionSettings {
    /// Bytes of all of them.
    pub max_size: Size,
    /// Seconds until they are removed.
    pub max_age: f64,
    /// Bytes that stay free on the disk.
    pub min_free: Size,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self { max_size: Size(20_000_000_000), max_age: 604_800.0, min_free: Size(1_000_000_000) }
    }
}

impl RetentionSettings {
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        duration("max-age", self.max_age).map(drop)
    }
}

/// Checks a number of seconds.
pub(super) fn duration(key: &'static str, seconds: f64) -> Result<Duration, (&'static str, String)> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| (key, format!("{key} = {seconds} is no time: set a number of seconds, 0 or above")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_every_user_can_read_are_named_and_a_fifo_does_not_hold_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let [token, key, fifo] = ["token", "key", "fifo"].map(|name| folder.path().join(name));
        let write = |path: &PathBuf, mode| {
            std::fs::write(path, "0123456789abcdef").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let server = || ServerSettings {
            token_file: Some(token.clone()),
            tls_key: Some(key.clone()),
            tls_cert: Some(key.clone()),
            ..ServerSettings::default()
        };
        write(&token, 0o600);
        write(&key, 0o640);
        assert_eq!(server().exposed_secrets(), [""; 0]);
        assert!(server().check().is_ok());
        write(&key, 0o644);
        let [exposed] = &server().exposed_secrets()[..] else { panic!("one is exposed") };
        assert!(exposed.contains("tls-key") && exposed.contains("chmod o-rwx"), "{exposed}");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        let (key, sentence) = ServerSettings { tls_key: Some(fifo), ..server() }.check().unwrap_err();
        assert!(key == "tls-key" && sentence.contains("a FIFO"), "{sentence}");
    }
}
