//! Asking a camera by SOAP 1.2 over HTTP. Cameras are strangers: answers are bounded in size and time, and no redirect is followed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quick_xml::escape::escape;
use ureq::Agent;
use ureq::tls::{TlsConfig, TlsProvider};

use super::camera::printable;
use super::xml::{self, Element};

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How long all answers together may take.
const ALL: Duration = Duration::from_secs(20);
/// Bytes of an answer. The profiles of a recorder with 64 channels have some hundred thousand.
const LARGEST: u64 = 1024 * 1024;

/// Why a camera gives no streams; a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum CameraError {
    #[error("the camera at {0} does not answer: {1:.200}")]
    Unreachable(String, String),
    #[error("the camera did not give all its answers within {0} s")]
    Slow(u64),
    #[error("the camera's answer has more than {0} KiB")]
    Large(u64),
    #[error("the camera's answer cannot be read: {0}")]
    Unreadable(String),
    #[error(
        "the camera refuses the login ('{0}'): check user and password, and that this user may use ONVIF"
    )]
    Denied(String),
    #[error(
        "the camera refuses the login with the HTTP status {0}. If user and password are right, it wants HTTP authentication, which is not supported \
         here: write the RTSP address from its manual"
    )]
    Http(u16),
    #[error("the camera refuses to answer {request}: '{reason}'")]
    Fault { request: &'static str, reason: String },
    #[error("the camera answers {request} with the HTTP status {status}, and no reason")]
    Status { request: &'static str, status: u16 },
    #[error("the camera's answer lacks {0}")]
    Lacks(&'static str),
}

/// A connection to a camera, with the time that is left for it.
pub(super) struct Connection {
    agent: Agent,
    until: Instant,
}

impl Connection {
    /// Nothing is connected until something is asked.
    pub fn new() -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // A camera has signed its certificate itself. Its address came without any proof as well; no password is sent, only its digest.
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .disable_verification(true);
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // Cameras are on this network, whatever stands in http_proxy.
            .proxy(None)
            .tls_config(tls.build())
            .user_agent(concat!("cudainfer/", env!("CARGO_PKG_VERSION")));
        Self { agent: cudainfer_brokers::agent(config.build()), until: Instant::now() + ALL }
    }

    /// Sends a request, and returns the first element of the answer's body. `header` is put into its header.
    ///
    /// # Errors
    /// See [`CameraError`].
    pub fn ask(&self, url: &str, request: &Request, header: &str) -> Result<Element, CameraError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CameraError::Slow(ALL.as_secs()));
        }
        let Request { name, namespace, body } = request;
        let envelope = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\">\
             <s:Header>{header}</s:Header><s:Body><{name} xmlns=\"{namespace}\">{body}</{name}></s:Body></s:Envelope>"
        );
        let kind = format!("application/soap+xml; charset=utf-8; action=\"{namespace}/{name}\"");
        let sent = self.agent.post(url).config().timeout_global(Some(left.min(ANSWER))).build();
        let failed = |e: ureq::Error| match e {
            ureq::Error::Timeout(_) => CameraError::Slow(ANSWER.min(left).as_secs().max(1)),
            ureq::Error::BodyExceedsLimit(limit) => CameraError::Large(limit / 1024),
            e => CameraError::Unreachable(url.to_owned(), printable(&e.to_string())),
        };
        let mut answer = sent.content_type(kind).send(envelope).map_err(failed)?;
        let status = answer.status().as_u16();
        let bytes = answer.body_mut().with_config().limit(LARGEST).read_to_vec().map_err(failed)?;
        read(status, &bytes, name)
    }
}

/// A request.
pub(super) struct Request {
    pub name: &'static str,
    pub namespace: &'static str,
    /// XML of its own, with texts of the camera's escaped.
    pub body: String,
}

impl Request {
    /// One with nothing in it.
    pub fn new(name: &'static str, namespace: &'static str) -> Self {
        Self { name, namespace, body: String::new() }
    }
}

/// A text as a part of XML.
pub(super) fn escaped(text: &str) -> String {
    escape(text).into_owned()
}

/// Reads an answer.
fn read(status: u16, bytes: &[u8], request: &'static str) -> Result<Element, CameraError> {
    let envelope = match xml::read(bytes) {
        Ok(envelope) => envelope,
        // A page for people, or nothing, comes with such a status.
        Err(_) if matches!(status, 401 | 403) => return Err(CameraError::Http(status)),
        Err(_) if status >= 300 => return Err(CameraError::Status { request, status }),
        Err(e) => return Err(CameraError::Unreadable(e.to_string())),
    };
    let body = envelope.child("Body");
    if let Some(fault) = body.and_then(|body| body.child("Fault")) {
        return Err(refusal(fault, request));
    }
    match status {
        401 | 403 => Err(CameraError::Http(status)),
        200..=299 => {
            let mut children = body.map(|body| &body.children[..]).unwrap_or_default().iter();
            let answer = children.find(|child| child.name.strip_suffix("Response") == Some(request));
            answer.cloned().ok_or(CameraError::Lacks("the response to the request"))
        }
        _ => Err(CameraError::Status { request, status }),
    }
}

/// What a fault (SOAP 1.2, or 1.1 of older cameras) says.
fn refusal(fault: &Element, request: &'static str) -> CameraError {
    let reason =
        fault.text_at(&["Reason", "Text"]).or(fault.text_at(&["faultstring"])).unwrap_or("no reason");
    let reason = printable(reason);
    let codes = [&["Code", "Subcode", "Value"][..], &["Code", "Subcode", "Subcode", "Value"], &["faultcode"]];
    let denied = codes.iter().filter_map(|path| fault.text_at(path)).any(|code| {
        let code = code.rsplit(':').next().unwrap_or(code);
        matches!(
            code,
            "NotAuthorized"
                | "FailedAuthentication"
                | "InvalidSecurityToken"
                | "InvalidSecurity"
                | "SenderNotAuthorized"
        )
    });
    let authorized = reason.to_lowercase().replace(' ', "").contains("notauthorized");
    if denied || authorized { CameraError::Denied(reason) } else { CameraError::Fault { request, reason } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_soap() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "soap")
            .with_ratio(150) // an element of four bytes is a struct of 100, in a vector that grows by doubling
            .run(|bytes| {
                for status in [200, 401, 500] {
                    let _ = read(status, bytes, "GetProfiles");
                }
            });
    }
}
