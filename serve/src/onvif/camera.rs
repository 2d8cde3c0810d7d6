//! A camera, as it describes itself in its answer to a probe.

use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use serde::Serialize;
use ureq::http::Uri;

use super::xml;

/// Characters of a name that are kept.
const LONGEST: usize = 100;
/// Characters of an address.
const LONGEST_ADDRESS: usize = 512;
/// What a scope with a name begins with; then comes its kind.
const SCOPE: &str = "onvif://www.onvif.org/";

/// A camera that has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Camera {
    /// Its identity: the address of its endpoint, which remains when its network address changes.
    pub id: String,
    /// What it calls itself; empty if it does not.
    pub name: String,
    /// Its model; empty if it does not say.
    pub hardware: String,
    /// Where it says that it is; empty if it does not.
    pub location: String,
    /// The network address that the answer came from.
    pub address: IpAddr,
    /// Where it answers by SOAP.
    pub xaddr: String,
}

/// Reads an answer that came from an address: of one camera, as a rule.
///
/// # Errors
/// A sentence: it is no answer to a probe, or names no address at which it may be contacted.
pub(super) fn read(answer: &[u8], from: IpAddr) -> Result<Vec<Camera>, String> {
    let envelope = xml::read(answer).map_err(|e| e.to_string())?;
    let matches = envelope.at(&["Body", "ProbeMatches"]).ok_or("it is no answer to a probe for cameras")?;
    let each = matches.children.iter().filter(|child| child.name == "ProbeMatch");
    each.map(|found| {
        let addresses = found.text_at(&["XAddrs"]).unwrap_or_default();
        let xaddr = reachable(addresses, from)?;
        let scopes = found.text_at(&["Scopes"]).unwrap_or_default();
        let id = found.text_at(&["EndpointReference", "Address"]).map_or_else(|| xaddr.clone(), printable);
        let [name, hardware, location] = ["name", "hardware", "location"].map(|kind| scope(scopes, kind));
        Ok(Camera { id, name, hardware, location, address: from, xaddr })
    })
    .collect()
}

/// The address among these that is at the sender's own: nobody may send requests of this service elsewhere.
fn reachable(addresses: &str, from: IpAddr) -> Result<String, String> {
    let own = |address: &&str| address.len() <= LONGEST_ADDRESS && is_at(address, from);
    let mut own: Vec<&str> = addresses.split_whitespace().filter(own).collect();
    // A camera's certificate is its own, so https costs time and proves nothing.
    own.sort_by_key(|address| address.starts_with("https"));
    own.first().map(|address| (*address).to_owned()).ok_or_else(|| {
        format!("it names no http address at {from}, where its answer came from: '{}'", printable(addresses))
    })
}

/// Whether an address is one of http or https at this host, without a login.
pub(super) fn is_at(address: &str, host: IpAddr) -> bool {
    let Ok(uri) = address.parse::<Uri>() else { return false };
    let http = matches!(uri.scheme_str(), Some("http" | "https"));
    let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    let same = uri.host().and_then(|host| host.trim_matches(['[', ']']).parse().ok()) == Some(host);
    http && plain && same
}

/// The names of a kind among the scopes.
fn scope(scopes: &str, kind: &str) -> String {
    let of_kind = |scope: &str| {
        let (found, value) = scope.strip_prefix(SCOPE)?.split_once('/')?;
        (found == kind).then(|| printable(&percent_decode_str(value).decode_utf8_lossy()))
    };
    let names: Vec<String> = scopes.split_whitespace().filter_map(of_kind).collect();
    printable(&names.join(", "))
}

/// A text of a camera's without characters that move a terminal's cursor or hide others, and not longer than a name.
pub(super) fn printable(text: &str) -> String {
    let hides = |c: &char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.trim().chars().filter(|c| !hides(c)).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(address: &str, scopes: &str) -> Vec<u8> {
        format!(
            "<s:Envelope xmlns:s='http://www.w3.org/2003/05/soap-envelope'><s:Body><d:ProbeMatches><d:ProbeMatch>\
             <a:EndpointReference><a:Address>urn:uuid:1</a:Address></a:EndpointReference><d:Scopes>{scopes}</d:Scopes>\
             <d:XAddrs>{address}</d:XAddrs></d:ProbeMatch></d:ProbeMatches></s:Body></s:Envelope>"
        )
        .into_bytes()
    }

    #[test]
    fn names_are_read_from_the_scopes() {
        let scopes = "onvif://www.onvif.org/Profile/Streaming onvif://www.onvif.org/name/North%20gate%0A%1b[2J \
                      onvif://www.onvif.org/hardware/X-1 onvif://www.onvif.org/location/country/se \
                      onvif://www.onvif.org/location/city/lund onvif://example.org/name/other";
        let from = "192.0.2.7".parse().unwrap();
        let addresses =
            "https://192.0.2.7/onvif http://[2001:db8::1]/onvif http://192.0.2.7:8000/onvif/device_service";
        let [camera] = &read(&answer(addresses, scopes), from).unwrap()[..] else { panic!("one camera") };
        assert_eq!(
            (&*camera.name, &*camera.hardware, &*camera.location),
            ("North gate[2J", "X-1", "country/se, city/lund")
        );
        assert_eq!(
            (&*camera.id, &*camera.xaddr),
            ("urn:uuid:1", "http://192.0.2.7:8000/onvif/device_service")
        );
        let long = format!("onvif://www.onvif.org/name/{}", "x".repeat(5000));
        assert_eq!(read(&answer("http://192.0.2.7/", &long), from).unwrap()[0].name.len(), LONGEST);
    }

    #[test]
    fn only_the_senders_own_address_is_taken() {
        let from = "192.0.2.7".parse().unwrap();
        for address in [
            "http://192.0.2.8/onvif",
            "http://127.0.0.1:8080/v1/streams",
            "http://192.0.2.7@192.0.2.8/",
            "http://user:pw@192.0.2.7/",
            "http://192.0.2.7.example.org/",
            "http://camera.local/onvif",
            "ftp://192.0.2.7/",
            "file:///etc/passwd",
            "192.0.2.7",
            "",
        ] {
            let refused = read(&answer(address, ""), from).unwrap_err();
            assert!(refused.contains("192.0.2.7, where its answer came from"), "{address}: {refused}");
        }
        let long = format!("http://192.0.2.7/{}", "x".repeat(1000));
        assert!(read(&answer(&long, ""), from).is_err());
    }
}
