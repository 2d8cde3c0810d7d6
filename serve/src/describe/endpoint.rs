//! The server that describes: one picture is posted, and asked about again where that makes sense.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use cudainfer_brokers::{PostAnswer, PostError, Poster, https};
use serde_json::json;

use super::answer::{complaint, words};
use crate::config::DescribeSettings;
use crate::log;

/// Bytes of an answer that are read: a text of the most characters has a tenth.
const MOST_BYTES: u64 = 1 << 20;
/// How often a picture is asked about.
const TRIES: u32 = 3;
/// The longest wait for which a server may ask.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A server.
#[derive(Debug)]
pub struct Endpoint {
    /// Where it is, and what it is asked.
    pub settings: DescribeSettings,
    address: String,
    poster: Poster,
}

/// Why there are no words.
#[derive(Debug, PartialEq, Eq)]
pub enum NoWords {
    /// The wait for another try was broken off.
    Interrupted,
    /// A sentence.
    Failed(String),
}

/// What came of one try.
enum Tried {
    Words(String),
    /// Nothing that another try would change.
    Failed(String),
    /// It may be better later: after the time for which the server asks, if it does.
    Again(String, Option<Duration>),
}

impl Endpoint {
    /// Nothing is connected.
    ///
    /// # Errors
    /// A sentence: there is no TLS.
    pub fn new(settings: &DescribeSettings) -> Result<Self, String> {
        let tls = settings.is_encrypted().then(|| https::trusting("tls-ca", settings.tls_ca.as_deref()));
        let tls = tls.transpose().map_err(|e| e.to_string())?;
        let poster = Poster::new(tls, settings.timeout());
        Ok(Self { settings: settings.clone(), address: settings.address(), poster })
    }

    /// The words for a picture. `pause` waits before another try, and returns whether there should be one; `asks` is called for each.
    ///
    /// # Errors
    /// There are none.
    pub fn describe(
        &self,
        prompt: &str,
        jpeg: &[u8],
        asks: impl Fn(),
        pause: impl Fn(Duration) -> bool,
    ) -> Result<String, NoWords> {
        let body = self.body(prompt, jpeg);
        let mut tries = 0;
        loop {
            tries += 1;
            let (why, after) = match self.ask(&body, &asks) {
                Tried::Words(words) => return Ok(words),
                Tried::Failed(why) => return Err(NoWords::Failed(why)),
                Tried::Again(why, after) => (why, after),
            };
            if tries >= TRIES {
                return Err(NoWords::Failed(format!("{why}, {TRIES} times")));
            }
            // 1 s, then 4 s.
            let wait = after.unwrap_or(Duration::from_secs(1) * 4_u32.pow(tries - 1));
            if wait > LONGEST_WAIT {
                return Err(NoWords::Failed(format!("{why}, and asks to wait {} s", wait.as_secs())));
            }
            if !pause(wait) {
                return Err(NoWords::Interrupted);
            }
        }
    }

    /// The body of a request, as all servers take it.
    fn body(&self, prompt: &str, jpeg: &[u8]) -> Vec<u8> {
        let picture = format!("data:image/jpeg;base64,{}", BASE64_STANDARD.encode(jpeg));
        let mut body = json!({
            "model": self.settings.model,
            "stream": false,
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": prompt},
                {"type": "image_url", "image_url": {"url": picture}},
            ]}],
        });
        if let (Some(most), Some(keys)) = (self.settings.max_tokens, body.as_object_mut()) {
            keys.insert("max_tokens".to_owned(), most.into());
        }
        body.to_string().into_bytes()
    }

    fn ask(&self, body: &[u8], asks: &impl Fn()) -> Tried {
        // Another key may be in the file by now.
        let key = match self.settings.key() {
            Ok(key) => key,
            Err(why) => return Tried::Failed(why),
        };
        asks();
        let authorization = key.as_ref().map(|key| format!("Bearer {key}"));
        let answer = self.poster.post(&self.address, authorization.as_deref(), body, MOST_BYTES);
        let at = &self.address;
        match answer {
            Ok(PostAnswer { status: 200..=299, body, .. }) => self.read(&body, key.as_deref()),
            Ok(answer) => self.refused(&answer, key.as_deref()),
            Err(PostError::NobodyListens(why)) => {
                Tried::Again(format!("'{at}' cannot be reached: {why}"), None)
            }
            Err(PostError::TimedOut) => {
                Tried::Failed(format!("'{at}' did not answer within {} s (timeout)", self.settings.timeout))
            }
            Err(PostError::TooLong(most)) => {
                Tried::Failed(format!("'{at}': its answer is too long: it has more than {most} bytes"))
            }
            Err(PostError::Failed(why)) => Tried::Failed(format!("'{at}' cannot be asked: {why}")),
        }
    }

    fn read(&self, body: &[u8], key: Option<&str>) -> Tried {
        match words(body, self.settings.characters, key) {
            Ok((words, None)) => Tried::Words(words),
            Ok((words, Some(count))) => {
                log::info(format_args!(
                    "[describe] a description of {count} characters was cut to {} (characters)",
                    self.settings.characters
                ));
                Tried::Words(words)
            }
            Err(why) => Tried::Failed(format!("'{}': {why}", self.address)),
        }
    }

    fn refused(&self, PostAnswer { status, retry_after, body }: &PostAnswer, key: Option<&str>) -> Tried {
        let remedy = match status {
            300..=399 => "it leads elsewhere, and is not followed: correct url",
            401 if key.is_none() => "it asks for a key: set key-file",
            401 => "it does not take the key in key-file",
            403 => "the key in key-file may not be used for this",
            404 => "there is no such path, or no such model: correct url or model",
            429 => "it has too many requests",
            500..=599 => "it has failed",
            _ => "it does not take the request",
        };
        // What it says about a key may have the key in it.
        let said = complaint(body, key).filter(|_| !matches!(status, 401 | 403));
        let said = said.map(|said| format!(" ('{said}')")).unwrap_or_default();
        let why = format!("'{}' answers with the status {status}: {remedy}{said}", self.address);
        if matches!(status, 429 | 500..=599) { Tried::Again(why, *retry_after) } else { Tried::Failed(why) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::net::TcpListener;

    use super::*;

    /// A server that is not there.
    fn nobody() -> Endpoint {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (url, model) = (format!("http://{address}/v1"), "m".to_owned());
        Endpoint::new(&DescribeSettings { url, model, ..DescribeSettings::default() }).unwrap()
    }

    #[test]
    fn a_server_that_is_not_there_is_asked_three_times() {
        let (asked, waits) = (Cell::new(0), RefCell::new(Vec::new()));
        let pause = |wait: Duration| {
            waits.borrow_mut().push(wait.as_secs());
            true
        };
        let failed = nobody().describe("what?", b"jpeg", || asked.set(asked.get() + 1), pause);
        let Err(NoWords::Failed(why)) = failed else { panic!("{failed:?}") };
        assert!(why.contains("cannot be reached: ") && why.ends_with(", 3 times"), "{why}");
        assert_eq!((asked.get(), waits.into_inner()), (3, vec![1, 4]));
    }

    #[test]
    fn a_wait_that_is_broken_off_is_no_failure_and_a_key_that_is_gone_is_one() {
        assert_eq!(nobody().describe("what?", b"jpeg", || (), |_| false), Err(NoWords::Interrupted));
        let settings = DescribeSettings { key_file: Some("/nowhere/key".into()), ..nobody().settings };
        let asks = || panic!("nothing is sent without the key");
        let failed = Endpoint::new(&settings).unwrap().describe("what?", b"jpeg", asks, |_| true);
        assert!(matches!(failed, Err(NoWords::Failed(why)) if why.contains("'/nowhere/key' cannot be read")));
    }

    #[test]
    fn a_request_has_what_all_servers_take_and_a_limit_only_if_it_is_set() {
        let endpoint = nobody();
        let body: serde_json::Value = serde_json::from_slice(&endpoint.body("what?", b"jpeg")).unwrap();
        let content = json!([
            {"type": "text", "text": "what?"},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,anBlZw=="}},
        ]);
        let expected =
            json!({"model": "m", "stream": false, "messages": [{"role": "user", "content": content}]});
        assert_eq!(body, expected);
    }
}
