//! Which requests are answered: those with the token, and none that another site's page makes in a user's browser.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq;

use super::answer::Refused;

/// The token that every request must have.
pub struct Token(Box<[u8]>);

impl Token {
    /// A token that [`crate::config::read_token`] has read.
    pub fn new(token: &str) -> Self {
        Self(token.as_bytes().into())
    }

    /// Whether the request has this token. The time of the comparison reveals the token's length at most.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some((scheme, given)) =
            headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(|v| v.split_once(' '))
        else {
            return false;
        };
        scheme.eq_ignore_ascii_case("bearer") && bool::from(self.0.ct_eq(given.trim().as_bytes()))
    }
}

/// How requests are checked.
pub struct Access {
    /// The token, if there is one.
    pub token: Option<Token>,
    /// Whether connections need a client's certificate, which has been verified before a request comes.
    pub certificates: bool,
}

impl Access {
    /// Whether a request may be answered. `open` is true for the routes whose answers have nothing about the streams.
    ///
    /// # Errors
    /// What to answer instead.
    pub fn check(&self, headers: &HeaderMap, open: bool) -> Result<(), Refused> {
        if self.token.is_none() && !self.certificates {
            local(headers)?;
        }
        same_site(headers)?;
        match &self.token {
            Some(token) if !open && !token.is_in(headers) => Err(Refused::new(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: expected Authorization: Bearer, with the token of token-file",
            )),
            _ => Ok(()),
        }
    }
}

/// Without a token, only this machine's names are allowed in `Host`: with any name that resolves to this machine (DNS
/// rebinding), every site's page could send requests.
fn local(headers: &HeaderMap) -> Result<(), Refused> {
    let host = headers.get(HOST).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let local =
        name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok() || name.is_empty();
    local.then_some(()).ok_or_else(|| {
        Refused::new(
            StatusCode::FORBIDDEN,
            format!("the host '{host}' is not this machine's: without token-file or client-ca, ask for localhost or an IP address"),
        )
    })
}

/// A browser states from which site's page a request comes. Only this service's own page may send requests, also for what a page
/// can embed, for which browsers name no origin. Links from other sites to this service work.
fn same_site(headers: &HeaderMap) -> Result<(), Refused> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let elsewhere = matches!(header("sec-fetch-site"), "cross-site" | "same-site");
    if elsewhere && header("sec-fetch-mode") != "navigate" {
        let sentence = "a page of another site may not ask: only the page of this service may";
        return Err(Refused::new(StatusCode::FORBIDDEN, sentence));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let host = headers.get(HOST).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let same = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    same.then_some(()).ok_or_else(|| {
        Refused::new(
            StatusCode::FORBIDDEN,
            format!("a page of {origin} may not ask: only the page of this service may"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn access(token: Option<&str>) -> Access {
        Access { token: token.map(|t| Token(t.as_bytes().into())), certificates: false }
    }

    fn status(access: &Access, list: &[(&'static str, &'static str)], open: bool) -> u16 {
        access.check(&headers(list), open).map_or_else(|e| e.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_the_whole_token_opens() {
        let access = access(Some("0123456789abcdef"));
        assert_eq!(status(&access, &[("authorization", "Bearer 0123456789abcdef")], false), 200);
        assert_eq!(status(&access, &[("authorization", "bearer 0123456789abcdef")], false), 200);
        for wrong in [
            "Bearer 0123456789abcdeg",
            "Bearer 0123456789abcde",
            "Bearer ",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ] {
            let mut map = HeaderMap::new();
            map.insert(AUTHORIZATION, wrong.parse().unwrap());
            assert_eq!(access.check(&map, false).unwrap_err().status, 401);
        }
        assert_eq!(status(&access, &[], false), 401);
        assert_eq!(status(&access, &[], true), 200, "an open route needs none");
    }

    #[test]
    fn without_a_token_only_this_machines_names_are_answered() {
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LOCALHOST", "10.0.0.2"] {
            let mut map = HeaderMap::new();
            map.insert(HOST, host.parse().unwrap());
            assert!(access(None).check(&map, false).is_ok(), "{host}");
        }
        assert_eq!(status(&access(None), &[("host", "evil.example:8080")], true), 403);
        let with = access(Some("0123456789abcdef"));
        assert_eq!(
            status(&with, &[("host", "cams.example"), ("authorization", "Bearer 0123456789abcdef")], false),
            200
        );
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let access = access(None);
        for (site, mode, expected) in [
            ("cross-site", "no-cors", 403),
            ("same-site", "cors", 403),
            ("cross-site", "navigate", 200),
            ("same-origin", "cors", 200),
            ("none", "navigate", 200),
        ] {
            let list = [("host", "localhost:8080"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
            assert_eq!(status(&access, &list, true), expected, "{site} {mode}");
        }
        assert_eq!(
            status(&access, &[("host", "localhost:8080"), ("origin", "http://localhost:8080")], false),
            200
        );
        for origin in ["http://localhost:9999", "https://evil.example", "null"] {
            let mut map = headers(&[("host", "localhost:8080")]);
            map.insert(ORIGIN, origin.parse().unwrap());
            assert_eq!(access.check(&map, false).unwrap_err().status, 403, "{origin}");
        }
    }
}
