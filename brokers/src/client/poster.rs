//! One POST and its answer, of which a bounded part is read. Redirects are not followed: the server that they name would get
//! what was posted, and the key.

use std::io;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::TlsConfig;

use super::contract::{Failure, explain};
use crate::resolver::agent;

/// Posts JSON to addresses.
#[derive(Clone, Debug)]
pub struct Poster {
    agent: Agent,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostAnswer {
    /// Its status.
    pub status: u16,
    /// How long the server asks to wait, by the header Retry-After in seconds.
    pub retry_after: Option<Duration>,
    /// Its body.
    pub body: Vec<u8>,
}

/// Why there is no answer. The texts are for the end of a sentence, and have no secrets in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostError {
    /// Nobody listens at the address.
    NobodyListens(String),
    /// It took longer than it may.
    TimedOut,
    /// The answer has more than as many bytes.
    TooLong(u64),
    /// Anything else.
    Failed(String),
}

impl Poster {
    /// A request may take as long, with its answer. Nothing is connected until something is posted.
    pub fn new(tls: Option<TlsConfig>, limit: Duration) -> Self {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(limit))
            .user_agent(concat!("cudainfer/", env!("CARGO_PKG_VERSION")));
        if let Some(tls) = tls {
            config = config.tls_config(tls);
        }
        Self { agent: agent(config.build()) }
    }

    /// Posts a body of JSON with this value of the header Authorization. Of the answer's body, at most as many bytes are read.
    ///
    /// # Errors
    /// There is no answer, or it is longer.
    pub fn post(
        &self,
        url: &str,
        authorization: Option<&str>,
        body: &[u8],
        most_bytes: u64,
    ) -> Result<PostAnswer, PostError> {
        let mut answer = self.send(url, authorization, body).map_err(|e| why(&e))?;
        let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after =
            retry_after.and_then(|seconds| seconds.trim().parse().ok()).map(Duration::from_secs);
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(most_bytes).read_to_vec();
        Ok(PostAnswer { status, retry_after, body: body.map_err(|e| why(&e))? })
    }

    pub(super) fn send(
        &self,
        url: &str,
        authorization: Option<&str>,
        body: &[u8],
    ) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let mut request = self.agent.post(url).content_type("application/json");
        if let Some(authorization) = authorization {
            request = request.header("Authorization", authorization);
        }
        request.send(body)
    }
}

fn why(error: &ureq::Error) -> PostError {
    match error {
        ureq::Error::Timeout(_) => PostError::TimedOut,
        ureq::Error::BodyExceedsLimit(most) => PostError::TooLong(*most),
        ureq::Error::ConnectionFailed => PostError::NobodyListens("it cannot be connected".to_owned()),
        ureq::Error::Io(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            PostError::NobodyListens(text_of(failure(error)))
        }
        ureq::Error::Io(e) if matches!(e.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            PostError::TimedOut
        }
        error => PostError::Failed(text_of(failure(error))),
    }
}

/// What it means for a message that could not be posted.
pub(super) fn failure(error: &ureq::Error) -> Failure {
    match error {
        // Its own error hides its cause.
        ureq::Error::Io(e) => explain(e),
        ureq::Error::Rustls(e) => explain(e),
        e => explain(e),
    }
}

fn text_of(failure: Failure) -> String {
    let (Failure::Lost(text) | Failure::Denied(text) | Failure::Unsendable(text)) = failure;
    text
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers one request with these bytes. Returns its URL, and the request's head.
    fn answering(answer: &'static [u8]) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let lines = reader.by_ref().lines().map_while(Result::ok);
            let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
            reader.read_exact(&mut [0; 2]).unwrap();
            connection.write_all(answer).unwrap();
            head.join("\n").to_lowercase()
        });
        (url, served)
    }

    fn post(url: &str, most_bytes: u64) -> Result<PostAnswer, PostError> {
        Poster::new(None, Duration::from_secs(60)).post(url, Some("Bearer a-key"), b"{}", most_bytes)
    }

    #[test]
    fn an_answer_has_its_status_and_how_long_to_wait_and_the_key_is_in_a_header() {
        let (url, served) = answering(
            b"HTTP/1.1 429 x\r\nretry-after: 7\r\ncontent-length: 4\r\nconnection: close\r\n\r\nwait",
        );
        let expected =
            PostAnswer { status: 429, retry_after: Some(Duration::from_secs(7)), body: b"wait".to_vec() };
        assert_eq!(post(&url, 4), Ok(expected));
        let head = served.join().unwrap();
        assert!(
            head.starts_with("post /v1 http/1.1\n") && head.contains("\nauthorization: bearer a-key"),
            "{head}"
        );
    }

    #[test]
    fn a_redirect_is_an_answer() {
        let (url, served) = answering(
            b"HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        );
        assert_eq!(post(&url, 4).map(|answer| answer.status), Ok(307));
        served.join().unwrap();
    }

    #[test]
    fn an_answer_that_is_too_long_and_an_address_where_nobody_listens_are_errors_of_their_own() {
        let (url, served) = answering(b"HTTP/1.1 200 x\r\nconnection: close\r\n\r\nwaits");
        assert_eq!(post(&url, 4), Err(PostError::TooLong(4)));
        served.join().unwrap();
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(matches!(post(&format!("http://{nobody}"), 4), Err(PostError::NobodyListens(_))));
    }
}
