//! Whether cameras answer: for `--check`, and for errors whose reason GStreamer does not know. A camera may be off, so for `--check`
//! it is no error if one does not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use axum::http::uri::Authority;

use crate::config::{SourceConfig, SourceKind};

/// How long the connection to an address may take, with the lookup of its name.
const LIMIT: Duration = Duration::from_secs(3);

/// A host and its port.
type Address = (String, u16);

/// A sentence for each source that cannot be reached now: because no connection to its address is made, or its device does not
/// exist. All are tried at once. Sources with a proxy are left out.
pub fn unreachable(sources: &[SourceConfig]) -> Vec<String> {
    let addresses: BTreeSet<Address> = sources.iter().filter_map(|source| address(source)?.ok()).collect();
    let answers = connect(&addresses);
    let sentence = |source: &SourceConfig| {
        let why = match (missing_device(source), address(source)) {
            (Some(device), _) => format!("there is no device {device}"),
            (None, Some(Err(sentence))) => sentence,
            (None, Some(Ok(address))) => {
                let late = Err(format!("no answer within {} s", LIMIT.as_secs()));
                let refused = answers.get(&address).cloned().unwrap_or(late).err()?;
                format!("{}:{} cannot be reached: {refused}", address.0, address.1)
            }
            (None, None) => return None,
        };
        Some(format!(
            "source '{}': {why}. The service starts all the same, and tries again and again; correct uri unless it is off",
            source.name
        ))
    };
    sources.iter().filter_map(sentence).collect()
}

fn missing_device(source: &SourceConfig) -> Option<String> {
    match SourceKind::parse(&source.uri) {
        Ok(SourceKind::V4l2 { device }) if !Path::new(&device).exists() => Some(device),
        _ => None,
    }
}

/// The address of a source's data, if it can be tried; an error if the URI has none.
fn address(source: &SourceConfig) -> Option<Result<Address, String>> {
    let uri = source.uri.whole();
    let port = match SourceKind::parse(&source.uri).ok()? {
        SourceKind::Rtsp if uri.starts_with("rtsps") => 322,
        SourceKind::Rtsp => 554,
        SourceKind::Http if uri.starts_with("https") => 443,
        SourceKind::Http => 80,
        SourceKind::File | SourceKind::V4l2 { .. } | SourceKind::Test(_) => return None,
    };
    if source.properties.contains_key("proxy") {
        return None;
    }
    let (_, rest) = uri.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // If a password has one of these characters in it, its begin is in the place of the host.
    let cut = path.contains('@') && authority.contains(':') && !authority.contains('@');
    let authority = authority.parse::<Authority>().ok().filter(|_| !cut);
    let address = authority.map(|authority| {
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        (host.to_owned(), authority.port_u16().unwrap_or(port))
    });
    Some(address.ok_or_else(|| {
        format!(
            "'{}' names no host; in a user or password write / as %2F, ? as %3F, # as %23, a space as %20",
            source.uri
        )
    }))
}

/// Whether a connection to a source's address is made; `None` if it has none that can be tried.
pub(super) fn try_address(source: &SourceConfig) -> Option<std::io::Result<()>> {
    let address = address(source)?.ok()?;
    let (sender, answer) = channel();
    let connect = move || drop(sender.send(try_all(&address)));
    std::thread::Builder::new().name("try".into()).spawn(connect).ok()?;
    Some(answer.recv_timeout(LIMIT).unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())))
}

/// The result of a connection to each address; addresses that take too long are missing.
fn connect(addresses: &BTreeSet<Address>) -> BTreeMap<Address, Result<(), String>> {
    let (sender, answers) = channel();
    for address in addresses.iter().cloned() {
        let sender = sender.clone();
        let connect = move || {
            let made = try_all(&address).map_err(|e| e.to_string());
            let _ = sender.send((address, made));
        };
        // If a name server hangs, its thread hangs until the process ends.
        let _ = std::thread::Builder::new().name("check".into()).spawn(connect);
    }
    drop(sender);
    let end = Instant::now() + LIMIT;
    std::iter::from_fn(|| answers.recv_timeout(end.saturating_duration_since(Instant::now())).ok()).collect()
}

/// Connects to the first of a name's addresses that answers.
fn try_all(address: &Address) -> std::io::Result<()> {
    let mut last = std::io::Error::other("the name has no address");
    for one in (address.0.as_str(), address.1).to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, LIMIT) {
            Ok(_) => return Ok(()),
            Err(e) => last = e,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_those_that_gstreamer_connects_to() {
        let of = |uri: &str| {
            let address = super::address(&SourceConfig { uri: uri.into(), ..SourceConfig::default() });
            address.and_then(Result::ok).map(|(host, port)| format!("{host} {port}"))
        };
        for (uri, expected) in [
            ("rtsp://user:se%40cret@camera/1", Some("camera 554")),
            ("rtsp://camera:8554/1", Some("camera 8554")),
            ("rtspt://[::1]/1", Some("::1 554")),
            ("rtsps://camera/1", Some("camera 322")),
            ("http://camera/a.m3u8", Some("camera 80")),
            ("https://camera/a.m3u8?x=1:2", Some("camera 443")),
            ("http://10.0.0.7:81/", Some("10.0.0.7 81")),
            ("rtsp:///1", None),
            ("rtsp://user:12/34@camera/1", None),
            ("file:///a.mp4", None),
            ("test://ball", None),
        ] {
            assert_eq!(of(uri).as_deref(), expected, "{uri}");
        }
    }
}
