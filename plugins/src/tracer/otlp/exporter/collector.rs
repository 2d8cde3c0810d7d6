//! The collector that spans are sent to.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use cudainfer_brokers::https;
use ureq::Agent;
use ureq::http::Uri;

use super::super::span::Span;
use super::encode;

/// The environment variable, OpenTelemetry's own, of the file with the authorities that are trusted over https.
const AUTHORITIES: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of an answer that are read.
const LONGEST_ANSWER: u64 = 64 * 1024;

/// Characters of a collector's answer that are shown.
const LONGEST_REASON: usize = 200;

/// A collector.
#[derive(Debug)]
pub(super) struct Collector {
    url: Uri,
    agent: Agent,
}

/// Spans that are lost, and why.
#[derive(Debug)]
pub(super) struct Loss {
    pub spans: u64,
    pub why: String,
}

impl Collector {
    /// The collector at this URL; without a path it gets OTLP's own.
    ///
    /// # Errors
    /// A sentence for the user: the URL is not valid.
    pub fn new(url: &str) -> Result<Self, String> {
        Self::trusting(url, std::env::var_os(AUTHORITIES).filter(|file| !file.is_empty()))
    }

    fn trusting(url: &str, authorities: Option<OsString>) -> Result<Self, String> {
        let refusal = |what: &str| {
            // A URL may have a password.
            let shown = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
            format!(
                "no spans are sent, because otlp={shown} {what}. Set otlp=http://ADDRESS:PORT to an OpenTelemetry collector, \
                 such as otlp=http://127.0.0.1:4318"
            )
        };
        let parsed: Uri = url.parse().map_err(|e| refusal(&format!("is no URL: {e}")))?;
        let encrypted = match parsed.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(refusal("does not begin with http:// or https://")),
        };
        if parsed.host().is_none_or(str::is_empty) {
            return Err(refusal("has no host"));
        }
        let url = if matches!(parsed.path(), "" | "/") {
            let whole = format!("{}/v1/traces", url.trim_end_matches('/'));
            whole.parse().map_err(|e| refusal(&format!("is no URL: {e}")))?
        } else {
            parsed
        };
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .proxy(None);
        if encrypted {
            let tls = https::trusting(AUTHORITIES, authorities.as_deref().map(Path::new));
            config = config.tls_config(tls.map_err(|e| format!("no spans are sent, because {e}"))?);
        }
        Ok(Self { url, agent: cudainfer_brokers::agent(config.build()) })
    }

    /// The collector's address, without what stands before the host.
    pub fn place(&self) -> String {
        let port = self.url.port_u16().map_or_else(String::new, |port| format!(":{port}"));
        let scheme = self.url.scheme_str().unwrap_or_default();
        format!("{scheme}://{}{port}{}", self.url.host().unwrap_or_default(), self.url.path())
    }

    /// Sends spans, once.
    ///
    /// # Errors
    /// How many of them the collector does not have.
    pub fn send(&self, spans: Vec<Span>) -> Result<(), Loss> {
        let all = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        let lost = |why: String| Loss { spans: all, why };
        let request = self.agent.post(&self.url).content_type("application/x-protobuf");
        let mut response = request.send(encode::request(spans)).map_err(|e| lost(e.to_string()))?;
        if !response.status().is_success() {
            return Err(lost(format!("it answers HTTP status {}", response.status().as_u16())));
        }
        let answer = response.body_mut().with_config().limit(LONGEST_ANSWER).read_to_vec();
        let answer = answer.map_err(|e| lost(format!("its answer cannot be read: {e}")))?;
        match encode::refused(&answer) {
            Ok((0, _)) => Ok(()),
            Ok((spans, why)) => {
                let shown: String = why.chars().filter(|c| !c.is_control()).take(LONGEST_REASON).collect();
                Err(Loss { spans: spans.min(all), why: format!("it refuses them: {shown}") })
            }
            Err(_) => Err(lost("what it answers is not OTLP".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_none_is_a_sentence_without_its_password() {
        for (url, what) in [
            ("", "is no URL"),
            ("nonsense", "does not begin with http:// or https://"),
            ("127.0.0.1:4318", "does not begin with http://"),
            ("ftp://127.0.0.1", "does not begin with http://"),
            ("https://", "is no URL"),
            ("http://", "is no URL"),
            ("http://a b", "is no URL"),
            ("http://me:secret@[::1", "is no URL"),
            ("ftp://me:secret@somewhere", "does not begin with http://"),
        ] {
            let refusal = Collector::new(url).unwrap_err();
            assert!(
                refusal.contains(what) && refusal.contains("Set otlp=http://ADDRESS:PORT"),
                "{url}: {refusal}"
            );
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn authorities_that_are_none_are_a_sentence_and_http_does_not_ask_for_any() {
        let collector = |url| Collector::trusting(url, Some("/nowhere/ca.pem".into()));
        let refusal = collector("https://me:secret@127.0.0.1:4318").unwrap_err();
        assert!(
            refusal.contains("OTEL_EXPORTER_OTLP_CERTIFICATE '/nowhere/ca.pem' cannot be read"),
            "{refusal}"
        );
        assert!(!refusal.contains("secret"), "{refusal}");
        assert!(collector("http://127.0.0.1:4318").is_ok());
    }

    #[test]
    fn a_url_without_a_path_has_that_of_otlp() {
        for (url, place) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/traces"),
            ("http://me:secret@host/own/path", "http://host/own/path"),
        ] {
            assert_eq!(Collector::new(url).unwrap().place(), place);
        }
    }
}
