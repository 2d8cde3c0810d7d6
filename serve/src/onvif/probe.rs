//! Looking for cameras: a probe by WS-Discovery (April 2005, as ONVIF's core specification requires it), and the answers to it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_ip_multicast_if_with_ifindex;
use serde::Serialize;

use super::camera::{self, Camera};
use super::interfaces;

/// How long answers are collected. A camera waits up to half a second before it answers.
const WAIT: Duration = Duration::from_secs(3);
/// After this time, the probe is sent once more: datagrams get lost.
const AGAIN: Duration = Duration::from_millis(500);
/// Bytes of an answer. Those of cameras have two to four thousand.
const LARGEST: usize = 16 * 1024;
/// Answers that are read, and answers that are read of one address: two probes, a camera of several services, a recorder with its cameras.
const MOST_ANSWERS: usize = 4096;
const MOST_OF_ONE: usize = 64;
/// Cameras that are listed.
const MOST_CAMERAS: usize = 512;
/// Answers of which it is said why they are of no use.
const MOST_UNUSABLE: usize = 20;

/// What a probe has found.
#[derive(Debug, Default, Serialize)]
pub struct Discovered {
    /// The cameras, by address.
    pub cameras: Vec<Camera>,
    /// Where the probe was sent: interfaces and addresses.
    pub asked: Vec<String>,
    /// Answers that are of no use, by the sender's address.
    pub unusable: Vec<Unusable>,
    /// Whether there were more answers than are read.
    pub more: bool,
}

/// An answer that is of no use.
#[derive(Debug, Serialize)]
pub struct Unusable {
    /// Where it came from.
    pub address: IpAddr,
    /// Why.
    pub why: String,
}

/// Sends a probe to these addresses, on each interface if one is a multicast group, and collects the answers for some seconds.
///
/// # Errors
/// A sentence: it cannot be sent anywhere.
pub fn discover(targets: &[SocketAddr]) -> Result<Discovered, String> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .map_err(|e| format!("there is no socket for looking for cameras: {e}"))?;
    let probe = probe();
    let asked = send(&socket, targets, &probe)?;
    let answers = collect(&socket, || drop(send(&socket, targets, &probe)));
    Ok(Discovered { asked, ..answers })
}

/// The message. Its `MessageID` is new each time.
fn probe() -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
         <s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\" xmlns:a=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\">\
         <s:Header><a:Action s:mustUnderstand=\"1\">http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</a:Action>\
         <a:MessageID>{id}</a:MessageID>\
         <a:ReplyTo><a:Address>http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous</a:Address></a:ReplyTo>\
         <a:To s:mustUnderstand=\"1\">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To></s:Header>\
         <s:Body><Probe xmlns=\"http://schemas.xmlsoap.org/ws/2005/04/discovery\">\
         <d:Types xmlns:d=\"http://schemas.xmlsoap.org/ws/2005/04/discovery\" xmlns:dn=\"http://www.onvif.org/ver10/network/wsdl\">\
         dn:NetworkVideoTransmitter</d:Types></Probe></s:Body></s:Envelope>",
        id = uuid(fastrand::u128(..))
    )
}

/// A random UUID (RFC 4122, version 4).
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0b11 << 62) | 0x4 << 76 | 0b10 << 62;
    let hex = format!("{bits:032x}");
    let parts: Vec<&str> =
        [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().filter_map(|part| hex.get(part)).collect();
    format!("urn:uuid:{}", parts.join("-"))
}

/// Sends the probe everywhere. Returns where it was sent.
fn send(socket: &UdpSocket, targets: &[SocketAddr], probe: &str) -> Result<Vec<String>, String> {
    let (mut sent, mut failed) = (Vec::new(), Vec::new());
    for target in targets {
        if !target.ip().is_multicast() {
            match socket.send_to(probe.as_bytes(), target) {
                Ok(_) => sent.push(target.to_string()),
                Err(e) => failed.push(format!("{target}: {e}")),
            }
            continue;
        }
        for interface in interfaces::multicast() {
            let any = Ipv4Addr::UNSPECIFIED;
            let done = set_ip_multicast_if_with_ifindex(socket, &any, &any, interface.index);
            match done.map_err(Into::into).and_then(|()| socket.send_to(probe.as_bytes(), target)) {
                Ok(_) => sent.push(interface.name),
                // As one without an address does.
                Err(e) => failed.push(format!("{}: {e}", interface.name)),
            }
        }
    }
    if sent.is_empty() {
        let why = if failed.is_empty() { "no interface is up".to_owned() } else { failed.join("; ") };
        return Err(format!("nothing can be sent on any network of this machine: {why:.512}"));
    }
    Ok(sent)
}

/// Collects answers for a while; `again` is called once meanwhile.
fn collect(socket: &UdpSocket, again: impl FnOnce()) -> Discovered {
    let began = Instant::now();
    let (mut again, mut found) = (Some(again), Discovered::default());
    let (mut answers, mut of_each) = (0, std::collections::BTreeMap::<IpAddr, usize>::new());
    let (mut seen, mut refused) = (BTreeSet::new(), BTreeSet::new());
    // One byte more, so that a larger answer is seen to be one.
    let mut bytes = vec![0; LARGEST + 1];
    while let Some(left) = WAIT.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
        if began.elapsed() >= AGAIN
            && let Some(again) = again.take()
        {
            again();
        }
        let wait = if again.is_some() { left.min(AGAIN) } else { left };
        let _ = socket.set_read_timeout(Some(wait.max(Duration::from_millis(1))));
        let (size, from) = match socket.recv_from(&mut bytes) {
            Ok((size, from)) => (size, from.ip()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            // An ICMP message that nobody listens at a target.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        let own = of_each.entry(from).or_default();
        *own += 1;
        if *own > MOST_OF_ONE {
            found.more = true;
            continue;
        }
        answers += 1;
        if answers > MOST_ANSWERS {
            found.more = true;
            break;
        }
        let read = match bytes.get(..size).filter(|_| size <= LARGEST) {
            Some(answer) => camera::read(answer, from),
            None => Err(format!("its answer has more than {} KiB", LARGEST / 1024)),
        };
        match read {
            Ok(cameras) => {
                for camera in cameras.into_iter().filter(|camera| seen.insert(camera.id.clone())) {
                    if found.cameras.len() < MOST_CAMERAS {
                        found.cameras.push(camera);
                    } else {
                        found.more = true;
                    }
                }
            }
            Err(why) if refused.insert(from) && found.unusable.len() < MOST_UNUSABLE => {
                found.unusable.push(Unusable { address: from, why });
            }
            Err(_) => (),
        }
    }
    // A camera that has answered usefully as well needs no explanation.
    found.unusable.retain(|each| found.cameras.iter().all(|camera| camera.address != each.address));
    found.cameras.sort_by(|a, b| (a.address, &a.xaddr).cmp(&(b.address, &b.xaddr)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_xml_with_an_id_of_its_own() {
        let ids: Vec<String> = (0..2)
            .map(|_| {
                let envelope = super::super::xml::read(probe().as_bytes()).unwrap();
                assert_eq!(envelope.text_at(&["Body", "Probe", "Types"]), Some("dn:NetworkVideoTransmitter"));
                envelope.text_at(&["Header", "MessageID"]).unwrap().to_owned()
            })
            .collect();
        assert_ne!(ids[0], ids[1]);
        assert_eq!(uuid(0), "urn:uuid:00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff");
    }

    #[test]
    fn nowhere_to_send_is_a_sentence() {
        // No socket of IPv4 sends there.
        let sentence = discover(&["[::1]:3702".parse().unwrap()]).unwrap_err();
        assert!(sentence.contains("nothing can be sent") && sentence.contains("[::1]:3702"), "{sentence}");
    }
}
