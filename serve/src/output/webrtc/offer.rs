//! A client's SDP offer: what of it is used, and the answer to the whole of it.
//!
//! webrtcbin does not get the client's text. It gets an offer that is written here, with one section of video, one codec and what was
//! checked of the rest, so that nothing that a client can think of reaches its parser. The sections that are not used are rejected in the
//! answer (RFC 8829, 5.3.1).

use super::codec::Codec;

/// The most sections of an offer. A page has one; other players add audio.
const MOST_SECTIONS: usize = 16;

/// The most addresses of the client that are tried.
const MOST_CANDIDATES: usize = 16;

/// What a client may report: that a picture is lost.
const FEEDBACK: [&str; 2] = ["nack pli", "ccm fir"];

/// Why an offer is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferError {
    /// It is no offer of a client that wants to receive video: a sentence.
    Malformed(String),
    /// The client decodes nothing that is encoded here: a sentence.
    NoCodec(String),
}

/// A format that the client takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The codec.
    pub codec: Codec,
    /// The number that its packets have.
    pub payload: u8,
    /// The profile of H.264, six hexadecimal digits.
    profile: Option<String>,
    feedback: Vec<&'static str>,
}

/// A section of an offer, as far as an answer repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    /// Kind, protocol and formats.
    media: (String, String, String),
    mid: Option<String>,
}

/// An offer that can be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    sections: Vec<Section>,
    /// Which of the sections is the video.
    video: usize,
    /// The formats of the video that are known here, in the client's order.
    pub formats: Vec<Format>,
    bundled: bool,
    user: String,
    password: String,
    fingerprint: String,
    setup: String,
    candidates: Vec<String>,
}

fn malformed(sentence: impl Into<String>) -> OfferError {
    OfferError::Malformed(sentence.into())
}

/// The values of an attribute in lines.
fn attributes<'a>(lines: &'a [&'a str], name: &'a str) -> impl Iterator<Item = &'a str> {
    lines.iter().filter_map(move |line| {
        let rest = line.strip_prefix("a=")?.strip_prefix(name)?;
        if rest.is_empty() { Some("") } else { rest.strip_prefix(':') }
    })
}

fn attribute<'a>(lines: &'a [&'a str], name: &'a str) -> Option<&'a str> {
    attributes(lines, name).next()
}

/// Whether a text has between `least` and `most` letters that are `allowed`.
fn is_word(text: &str, least: usize, most: usize, allowed: fn(char) -> bool) -> bool {
    (least..=most).contains(&text.len()) && text.chars().all(allowed)
}

fn is_ice_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '+' || c == '/'
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+/".contains(c)
}

impl Offer {
    /// Reads a client's offer.
    ///
    /// # Errors
    /// It is none, or asks for nothing that there is.
    pub fn read(text: &str) -> Result<Self, OfferError> {
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.first() != Some(&"v=0") {
            return Err(malformed(
                "the body is no SDP: expected the offer of an RTCPeerConnection, whose first line is v=0",
            ));
        }
        let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("m=")).collect();
        if starts.len() > MOST_SECTIONS {
            let found = starts.len();
            return Err(malformed(format!(
                "the offer has {found} sections: expected {MOST_SECTIONS} at most"
            )));
        }
        let ends = starts.iter().skip(1).copied().chain([lines.len()]);
        let parts: Vec<&[&str]> = starts.iter().zip(ends).map(|(start, end)| &lines[*start..end]).collect();
        let session = &lines[..starts.first().copied().unwrap_or(lines.len())];
        let sections = parts.iter().map(|part| section(part)).collect::<Result<Vec<_>, _>>()?;
        let video = (0..parts.len()).find(|at| is_wanted_video(&sections[*at], parts[*at]));
        let video = video.ok_or_else(|| {
            malformed(
                "the offer asks for no video: expected a section m=video with a=recvonly and a=rtcp-mux",
            )
        })?;
        let formats = formats(&sections[video].media.2, parts[video]);
        // A section that shares the transport of another one may have no keys of its own.
        let shared = |name| {
            let own = attribute(parts[video], name).or_else(|| attribute(session, name));
            own.or_else(|| parts.iter().find_map(|part| attribute(part, name)))
        };
        let word = |name: &'static str, is_right: &dyn Fn(&str) -> bool| {
            let found = shared(name).filter(|value| is_right(value)).map(str::to_owned);
            found
                .ok_or_else(|| malformed(format!("the offer has no a={name} that is right: WebRTC needs it")))
        };
        let mid = sections[video].mid.clone().unwrap_or_default();
        Ok(Self {
            bundled: attributes(session, "group").any(|group| {
                group.split(' ').next() == Some("BUNDLE") && group.split(' ').skip(1).any(|one| one == mid)
            }),
            user: word("ice-ufrag", &|value| is_word(value, 4, 256, is_ice_char))?,
            password: word("ice-pwd", &|value| is_word(value, 22, 256, is_ice_char))?,
            fingerprint: word("fingerprint", &is_fingerprint)?,
            setup: word("setup", &|value| ["actpass", "active", "passive"].contains(&value))?,
            candidates: attributes(parts[video], "candidate")
                .filter_map(candidate)
                .take(MOST_CANDIDATES)
                .collect(),
            sections,
            video,
            formats,
        })
    }

    /// The format of the first of these codecs that the client takes.
    ///
    /// # Errors
    /// It takes none.
    pub fn format(&self, codecs: impl IntoIterator<Item = Codec> + Clone) -> Result<&Format, OfferError> {
        let wanted = codecs.clone().into_iter();
        let found =
            wanted.filter_map(|codec| self.formats.iter().find(|format| format.codec == codec)).next();
        found.ok_or_else(|| {
            let mut names: Vec<&str> = codecs.into_iter().map(Codec::name).collect();
            names.dedup();
            OfferError::NoCodec(format!(
                "the offer has no codec that is encoded here: expected {} (H264 with packetization-mode=1 and a baseline profile)",
                names.join(" or ")
            ))
        })
    }

    /// The offer for webrtcbin, with one of the formats.
    pub fn reduced(&self, format: &Format) -> String {
        let Format { codec, payload, profile, feedback } = format;
        let mid = self.mid();
        let mut text = String::from("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n");
        let mut line = |written: String| text += &format!("{written}\r\n");
        if self.bundled {
            line(format!("a=group:BUNDLE {mid}"));
        }
        line(format!("m=video 9 UDP/TLS/RTP/SAVPF {payload}"));
        line("c=IN IP4 0.0.0.0".into());
        line(format!("a=ice-ufrag:{}", self.user));
        line(format!("a=ice-pwd:{}", self.password));
        line("a=ice-options:trickle".into());
        line(format!("a=fingerprint:{}", self.fingerprint));
        line(format!("a=setup:{}", self.setup));
        line(format!("a=mid:{mid}"));
        line("a=recvonly".into());
        line("a=rtcp-mux".into());
        line(format!("a=rtpmap:{payload} {}/90000", codec.name()));
        for feedback in feedback {
            line(format!("a=rtcp-fb:{payload} {feedback}"));
        }
        if let Some(profile) = profile {
            line(format!(
                "a=fmtp:{payload} level-asymmetry-allowed=1;packetization-mode=1;profile-level-id={profile}"
            ));
        }
        for candidate in &self.candidates {
            line(format!("a=candidate:{candidate}"));
        }
        text
    }

    /// The answer to the client's offer, by webrtcbin's answer to the reduced one.
    pub fn answer(&self, of_video: &str) -> String {
        let (session, video) = of_video.find("m=video").map_or((of_video, ""), |at| of_video.split_at(at));
        let mut text = session.to_owned();
        for (index, Section { media: (kind, protocol, formats), mid }) in self.sections.iter().enumerate() {
            if index == self.video {
                text += video;
                continue;
            }
            text += &format!("m={kind} 0 {protocol} {formats}\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\n");
            if let Some(mid) = mid {
                text += &format!("a=mid:{mid}\r\n");
            }
        }
        text
    }

    fn mid(&self) -> &str {
        self.sections[self.video].mid.as_deref().unwrap_or("0")
    }
}

/// Reads what an answer repeats of a section.
fn section(lines: &[&str]) -> Result<Section, OfferError> {
    let wrong = || {
        malformed(
            "the offer has a section that cannot be read: expected m=, a kind, a port, a protocol and formats",
        )
    };
    let media = lines.first().and_then(|line| line.strip_prefix("m=")).ok_or_else(wrong)?;
    let mut words = media.splitn(4, ' ');
    let (Some(kind), Some(_port), Some(protocol), Some(formats)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(wrong());
    };
    let right = is_word(kind, 1, 32, is_token_char)
        && is_word(protocol, 1, 64, is_token_char)
        && is_word(formats, 1, 1024, |c| is_token_char(c) || c == ' ');
    let mid = attribute(lines, "mid");
    if !right || mid.is_some_and(|mid| !is_word(mid, 1, 64, is_token_char)) {
        return Err(wrong());
    }
    Ok(Section { media: (kind.into(), protocol.into(), formats.into()), mid: mid.map(str::to_owned) })
}

fn is_wanted_video(section: &Section, lines: &[&str]) -> bool {
    let (kind, protocol, _) = &section.media;
    let sends_only = ["inactive", "sendonly"].iter().any(|direction| attribute(lines, direction).is_some());
    let is_off = lines[0].split(' ').nth(1) == Some("0") && attribute(lines, "bundle-only").is_none();
    kind == "video"
        && protocol.ends_with("TLS/RTP/SAVPF")
        && !sends_only
        && !is_off
        && attribute(lines, "rtcp-mux").is_some()
}

/// The formats that are known here.
fn formats(payloads: &str, lines: &[&str]) -> Vec<Format> {
    let of = |name, payload: u8| {
        let values: Vec<&str> = attributes(lines, name)
            .filter_map(|value| value.split_once(' ').filter(|(number, _)| number.parse() == Ok(payload)))
            .map(|(_, value)| value)
            .collect();
        values
    };
    let read = |payload: u8| {
        let map = of("rtpmap", payload);
        let codec = Codec::ALL.into_iter().find(|codec| {
            map.first().is_some_and(|map| map.eq_ignore_ascii_case(&format!("{}/90000", codec.name())))
        })?;
        let parameters = of("fmtp", payload);
        let parameter = |name: &str| {
            let pairs = parameters
                .iter()
                .flat_map(|list| list.split(';'))
                .filter_map(|pair| pair.trim().split_once('='));
            pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
        };
        let profile = match codec {
            Codec::Vp8 => None,
            Codec::H264 => {
                // Fragments need this mode; what is encoded is baseline, which every profile of 42 decodes.
                let profile =
                    parameter("profile-level-id").filter(|_| parameter("packetization-mode") == Some("1"))?;
                let is_baseline =
                    is_word(profile, 6, 6, |c| c.is_ascii_hexdigit()) && profile.starts_with("42");
                Some(is_baseline.then(|| profile.to_owned())?)
            }
        };
        let reported = of("rtcp-fb", payload);
        let all = attributes(lines, "rtcp-fb").filter_map(|value| value.strip_prefix("* "));
        let reported: Vec<&str> = reported.into_iter().chain(all).collect();
        let feedback = FEEDBACK.into_iter().filter(|kind| reported.contains(kind)).collect();
        Some(Format { codec, payload, profile, feedback })
    };
    payloads
        .split(' ')
        .filter_map(|payload| payload.parse().ok())
        .filter(|payload| *payload < 128)
        .filter_map(read)
        .collect()
}

fn is_fingerprint(value: &str) -> bool {
    value.split_once(' ').is_some_and(|(hash, digest)| {
        is_word(hash, 5, 16, |c| c.is_ascii_alphanumeric() || c == '-')
            && is_word(digest, 20, 256, |c| c.is_ascii_hexdigit() || c == ':')
    })
}

/// An address of the client that can be tried: browsers hide theirs in names of the local network, and find this service by its own
/// addresses.
fn candidate(value: &str) -> Option<String> {
    let words: Vec<&str> = value.split(' ').collect();
    let [foundation, component, transport, priority, address, port, "typ", kind, ..] = words[..] else {
        return None;
    };
    let right = is_word(foundation, 1, 32, is_ice_char)
        && component == "1"
        && transport.eq_ignore_ascii_case("udp")
        && priority.parse::<u32>().is_ok()
        && address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| !address.is_multicast() && !address.is_unspecified())
        && port.parse::<u16>().is_ok_and(|port| port != 0)
        && kind == "host";
    right.then(|| format!("{foundation} 1 UDP {priority} {address} {port} typ host"))
}

#[cfg(test)]
pub(super) mod tests;
