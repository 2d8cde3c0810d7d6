//! The profiles of a camera (ONVIF Media, version 1.0), each with the RTSP address of its video.

use std::net::IpAddr;

use gst::glib::DateTime;
use serde::Serialize;
use ureq::http::Uri;

use super::camera::{is_at, printable};
use super::login::Login;
use super::soap::{CameraError, Connection, Request, escaped};
use super::xml::Element;
use crate::time::milliseconds;

const DEVICE: &str = "http://www.onvif.org/ver10/device/wsdl";
const MEDIA: &str = "http://www.onvif.org/ver10/media/wsdl";

/// Profiles whose address is asked for.
const MOST: usize = 64;
/// Characters of an RTSP address.
const LONGEST_URI: usize = 1024;

/// A profile: one of the videos that a camera gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its encoding, as the camera calls it; empty if it does not say.
    pub encoding: String,
    /// Width in pixels.
    pub width: Option<u32>,
    /// Height in pixels.
    pub height: Option<u32>,
    /// Frames a second at most.
    pub rate: Option<u32>,
    /// The address of its video, without a login.
    pub uri: String,
}

/// Asks the camera that was found at an address for its profiles. Addresses in its answers lead to that host, whatever they say: a
/// camera does not always know under which address others see it, and must not have the login sent to another one.
///
/// # Errors
/// See [`CameraError`].
pub fn profiles(xaddr: &str, host: IpAddr, login: Option<&Login>) -> Result<Vec<Profile>, CameraError> {
    let camera = Connection::new();
    let ahead = clock(&camera, xaddr)?;
    // Each digest is good for one request.
    let ask = |url: &str, request: &Request| {
        let header = login.map(|login| login.header(&created(ahead))).unwrap_or_default();
        camera.ask(url, request, &header)
    };
    let capabilities =
        Request { body: "<Category>Media</Category>".into(), ..Request::new("GetCapabilities", DEVICE) };
    let capabilities = ask(xaddr, &capabilities)?;
    let media = capabilities
        .text_at(&["Capabilities", "Media", "XAddr"])
        .ok_or(CameraError::Lacks("the address of its media"))?;
    let media = media_at(media, xaddr, host)?;
    let answer = ask(&media, &Request::new("GetProfiles", MEDIA))?;
    let listed = answer.children.iter().filter(|child| child.name == "Profiles").take(MOST);
    let mut found = Vec::new();
    let mut refused = None;
    for (profile, token) in listed.filter_map(|profile| Some((profile, profile.token.as_deref()?))) {
        let body = format!(
            "<StreamSetup><Stream xmlns=\"http://www.onvif.org/ver10/schema\">RTP-Unicast</Stream>\
             <Transport xmlns=\"http://www.onvif.org/ver10/schema\"><Protocol>RTSP</Protocol></Transport></StreamSetup>\
             <ProfileToken>{}</ProfileToken>",
            escaped(token)
        );
        match ask(&media, &Request { body, ..Request::new("GetStreamUri", MEDIA) }) {
            Ok(answer) => {
                let uri = answer.text_at(&["MediaUri", "Uri"]).and_then(|uri| rtsp_at(uri, host));
                found.push(described(
                    profile,
                    uri.ok_or(CameraError::Lacks("the RTSP address of a profile"))?,
                ));
            }
            // A profile without video has none.
            Err(e @ CameraError::Fault { .. }) => refused = Some(e),
            Err(e) => return Err(e),
        }
    }
    match refused {
        Some(refused) if found.is_empty() => Err(refused),
        _ if found.is_empty() => Err(CameraError::Lacks("any profile")),
        _ => Ok(found),
    }
}

/// How many milliseconds the camera's clock is ahead of this machine's. A digest is good for a short time only, and cameras' clocks are wrong.
fn clock(camera: &Connection, xaddr: &str) -> Result<i64, CameraError> {
    let answer = match camera.ask(xaddr, &Request::new("GetSystemDateAndTime", DEVICE), "") {
        Ok(answer) => answer,
        // The standard has it answered without a login, but not all cameras do: this machine's time must do then.
        Err(
            CameraError::Fault { .. }
            | CameraError::Denied(_)
            | CameraError::Http(_)
            | CameraError::Status { .. },
        ) => return Ok(0),
        Err(e) => return Err(e),
    };
    let read = || {
        let time = answer.at(&["SystemDateAndTime", "UTCDateTime"])?;
        let number = |path: &[&str]| time.text_at(path)?.parse::<i32>().ok();
        let [year, month, day] =
            [&["Date", "Year"], &["Date", "Month"], &["Date", "Day"]].map(|path| number(path));
        let [hour, minute, second] =
            [&["Time", "Hour"], &["Time", "Minute"], &["Time", "Second"]].map(|path| number(path));
        let time = DateTime::from_utc(year?, month?, day?, hour?, minute?, f64::from(second?)).ok()?;
        time.to_unix().checked_mul(1000)
    };
    Ok(read().map_or(0, |time| time.saturating_sub(milliseconds())))
}

/// The present time of a clock that is so much ahead, as a digest has it.
fn created(ahead: i64) -> String {
    let text = crate::time::time_text(milliseconds().saturating_add(ahead));
    // Some cameras take no fraction.
    text.split_once('.').map(|(seconds, _)| format!("{seconds}Z")).unwrap_or(text)
}

/// The address of the media service at the camera's host.
fn media_at(media: &str, xaddr: &str, host: IpAddr) -> Result<String, CameraError> {
    if is_at(media, host) {
        return Ok(media.to_owned());
    }
    let path = media.parse::<Uri>().ok().and_then(|uri| Some(uri.path_and_query()?.as_str().to_owned()));
    let device = xaddr.parse::<Uri>().ok();
    let base = device.as_ref().and_then(|device| Some((device.scheme_str()?, device.authority()?)));
    let (Some(path), Some((scheme, authority))) = (path, base) else {
        return Err(CameraError::Lacks("an http address of its media"));
    };
    Ok(format!("{scheme}://{authority}{path}"))
}

/// An RTSP address at the camera's host, without a login.
fn rtsp_at(uri: &str, host: IpAddr) -> Option<String> {
    if uri.len() > LONGEST_URI || uri.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let (scheme, rest) = uri.split_once("://")?;
    if !matches!(scheme, "rtsp" | "rtsps") {
        return None;
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let after = place.rsplit_once(']').map_or(place, |(_, after)| after);
    let port = after.rsplit_once(':').map(|(_, port)| port.parse::<u16>()).transpose().ok()?;
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{scheme}://{host}{port}{path}"))
}

/// A profile with its address.
fn described(profile: &Element, uri: String) -> Profile {
    let encoder = profile.child("VideoEncoderConfiguration");
    let text = |path: &[&str]| encoder.and_then(|encoder| encoder.text_at(path));
    let number = |path: &[&str]| text(path).and_then(|text| text.parse().ok());
    Profile {
        name: printable(profile.text_at(&["Name"]).or(profile.token.as_deref()).unwrap_or_default()),
        encoding: printable(text(&["Encoding"]).unwrap_or_default()),
        width: number(&["Resolution", "Width"]),
        height: number(&["Resolution", "Height"]),
        rate: number(&["RateControl", "FrameRateLimit"]),
        uri,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_answers_lead_to_the_camera_that_was_found() {
        let host = "192.0.2.7".parse().unwrap();
        for (uri, expected) in [
            ("rtsp://192.0.2.7:554/a?b=c&d", Some("rtsp://192.0.2.7:554/a?b=c&d")),
            ("rtsp://10.0.0.1/a", Some("rtsp://192.0.2.7/a")),
            ("rtsp://user:p@evil.example:8554/a@b", Some("rtsp://192.0.2.7:8554/a@b")),
            ("rtsps://[fe80::1]:322/a", Some("rtsps://192.0.2.7:322/a")),
            ("rtsp://camera", Some("rtsp://192.0.2.7")),
            ("rtsp://camera:port/a", None),
            ("http://192.0.2.7/a", None),
            ("file:///etc/passwd", None),
            ("rtsp://camera/a b", None),
            ("rtsp", None),
        ] {
            assert_eq!(rtsp_at(uri, host).as_deref(), expected, "{uri}");
        }
        assert_eq!(rtsp_at(&format!("rtsp://camera/{}", "x".repeat(2000)), host), None);
        let device = "http://192.0.2.7:8000/onvif/device_service";
        for (media, expected) in [
            ("http://192.0.2.7:81/media", "http://192.0.2.7:81/media"),
            ("http://10.0.0.1:81/media?x", "http://192.0.2.7:8000/media?x"),
            ("/onvif/media", "http://192.0.2.7:8000/onvif/media"),
            ("http://user@192.0.2.7/m", "http://192.0.2.7:8000/m"),
        ] {
            assert_eq!(media_at(media, device, host).unwrap(), expected);
        }
        assert!(media_at("not an address", device, host).is_err());
    }

    #[test]
    fn the_time_of_a_digest_is_whole_seconds_of_the_cameras_clock() {
        let (now, later) = (created(0), created(86_400_000));
        assert!(now.len() == 20 && now.ends_with('Z') && later > now, "{now} {later}");
    }

    /// Has all elements of a tree read as profiles, and all texts as addresses.
    fn read_all(element: &Element, host: IpAddr) {
        described(element, String::new());
        let uri = rtsp_at(&element.text, host);
        assert!(
            uri.is_none_or(|uri| uri.split("://").nth(1).is_some_and(|rest| rest.starts_with("192.0.2.7")))
        );
        let _ = media_at(&element.text, "http://192.0.2.7:8000/onvif/device_service", host);
        element.children.iter().for_each(|child| read_all(child, host));
    }

    #[test]
    fn fuzz_onvif() {
        let host = "192.0.2.7".parse().unwrap();
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "onvif")
            .with_ratio(150) // an element of four bytes is a struct of 100, in a vector that grows by doubling
            .run(move |bytes| {
                let _ = super::super::camera::read(bytes, host);
                if let Ok(envelope) = super::super::xml::read(bytes) {
                    read_all(&envelope, host);
                }
            });
    }
}
