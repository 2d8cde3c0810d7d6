//! The host names that requests may use. A site on the internet can have its own name resolve to an address of this machine (DNS
//! rebinding), and its pages, in a browser here, could read the answers to requests with that name.

use std::net::{IpAddr, SocketAddr};

use gst::glib;
use hyper::header::{HOST, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Uri};

/// The names that are answered besides IP addresses and `localhost`.
pub(super) enum Names {
    /// Every one: the server listens where other machines reach it, which may know this one by any name.
    Any,
    /// This machine's own names.
    Own(Vec<String>),
}

impl Names {
    /// For a server that listens at `bound` because the user wrote `address`.
    pub fn new(address: &str, bound: SocketAddr) -> Self {
        if !bound.ip().to_canonical().is_loopback() {
            return Self::Any;
        }
        let written = address.parse::<Authority>().ok().map(|authority| authority.host().to_owned());
        Self::Own(written.into_iter().chain([glib::host_name().to_string()]).collect())
    }

    /// Whether a request is answered. One without a host name is no browser's.
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let Self::Own(own) = self else { return true };
        let mut hosts = headers.get_all(HOST).iter();
        let (host, more) = (hosts.next(), hosts.next());
        if more.is_some() {
            return false;
        }
        let host = host.map(HeaderValue::as_bytes).unwrap_or_default();
        // The host in the request line takes precedence, as in RFC 9112, section 3.2.2.
        let authority = match uri.authority() {
            Some(authority) => authority.clone(),
            None if host.is_empty() => return true,
            None => match Authority::try_from(host) {
                Ok(authority) => authority,
                Err(_) => return false,
            },
        };
        let name = authority.host();
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        is("localhost") || address.parse::<IpAddr>().is_ok() || own.iter().any(|known| is(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(names: &Names, hosts: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        names.allow(&"/metrics".parse().unwrap(), &headers)
    }

    #[test]
    fn at_a_loopback_address_only_names_of_this_machine_are_answered() {
        let own = Names::new("Camera1.example:9464", "127.0.0.1:9464".parse().unwrap());
        let machine = glib::host_name();
        for host in [
            "localhost:9464",
            "LOCALHOST",
            "127.0.0.1",
            "[::1]:9464",
            "10.0.0.2:1",
            "camera1.example",
            "",
            &machine,
        ] {
            assert!(allows(&own, &[host]), "{host}");
        }
        for host in [
            "evil.example:9464",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "a@evil.example",
            "[",
            "x y",
        ] {
            assert!(!allows(&own, &[host]), "{host}");
        }
        assert!(allows(&own, &[]));
        assert!(!allows(&own, &["localhost", "evil.example"]));
        let absolute = "http://evil.example/metrics".parse().unwrap();
        assert!(!own.allow(&absolute, &HeaderMap::new()));
    }

    #[test]
    fn where_other_machines_ask_every_name_is_answered() {
        for bound in ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464"] {
            let names = Names::new(bound, bound.parse().unwrap());
            assert!(allows(&names, &["cameras.example:9464"]), "{bound}");
        }
        let mapped = Names::new("[::ffff:127.0.0.1]:9464", "[::ffff:127.0.0.1]:9464".parse().unwrap());
        assert!(!allows(&mapped, &["cameras.example:9464"]));
    }
}
