//! Live video by WebRTC (WHEP): what a client decodes is the camera's picture, and no client costs anything when it has gone.

use cudainfer_serve::output::webrtc::MOST_OF_A_STREAM;
use cudainfer_tests::{scratch, until};
use serde_json::json;

use crate::service::{Answer, Service, ask, configuration, get, send};
use crate::webrtc_client::{Client, Colour};

/// Width and height are multiples of 3: the rows of RGB have no padding.
const CAMERA: &str =
    "[[source]]\nname = 'colour'\npipeline = 'plain'\nuri = 'test://red?width=192&height=96&rate=15'\n";

/// What is installed for live video, as the service says.
pub(crate) fn encoders(service: &Service) -> Option<Vec<String>> {
    let state = get(&format!("{}/v1/streams", service.url)).json()["webrtc"].clone();
    let names = state["encoders"]
        .as_array()
        .map(|list| list.iter().map(|name| name.as_str().unwrap().into()).collect());
    assert!(
        names.is_some() || std::env::var_os("CUDAINFER_TEST_ALL").is_none(),
        "{state}: for_tests=yes scripts/setup installs it"
    );
    if names.is_none() {
        eprintln!("skipped: {state}");
    }
    names
}

/// A service whose stream `colour` plays, and the codecs that it encodes; none where what it needs is not installed.
fn start() -> Option<(Service, Vec<&'static str>)> {
    let service = Service::start(&(configuration("") + CAMERA));
    let names = encoders(&service)?;
    let has_h264 = names.iter().any(|name| name.contains("264"));
    let has_vp8 = names.iter().any(|name| name.contains("vp8"));
    service.plays("colour");
    let codecs = [("H264", has_h264), ("VP8", has_vp8)];
    Some((service, codecs.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()))
}

fn post(service: &Service, stream: &str, offer: &str) -> Answer {
    let url = format!("{}/v1/streams/{stream}/whep", service.url);
    ask("POST", &url, &[("content-type", "application/sdp")], Some(offer.as_bytes()))
}

/// The address of the session of an answer.
fn session(service: &Service, stream: &str, answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{answer:?}");
    let place = answer.headers["location"].to_str().unwrap();
    assert!(place.starts_with("whep/"), "it is relative: {place}");
    format!("{}/v1/streams/{stream}/{place}", service.url)
}

/// A client that looks at `colour`, and the address of its session.
fn look(service: &Service, codec: &str) -> (Client, String) {
    let (client, offer) = Client::new(codec);
    let answer = post(service, "colour", &offer);
    let address = session(service, "colour", &answer);
    assert_eq!(answer.kind, "application/sdp");
    client.answered(&String::from_utf8(answer.body).unwrap());
    (client, address)
}

/// How many pipelines get frames of `colour` besides its own.
fn watchers(service: &Service) -> usize {
    service.fleet.outputs("colour").map_or(0, |outputs| outputs.watchers())
}

/// Encoding changes colours by a few steps of 255.
fn is_red([red, green, blue]: Colour) -> bool {
    red > 200 && green < 50 && blue < 50
}

fn is_blue([red, green, blue]: Colour) -> bool {
    red < 50 && green < 50 && blue > 200
}

#[test]
fn clients_decode_the_cameras_picture_of_one_encoder_and_nothing_is_left_of_them() {
    let Some((service, codecs)) = start() else { return };
    for codec in codecs {
        assert_eq!(watchers(&service), 0, "nothing is encoded before anybody looks");
        let (first, first_session) = look(&service, codec);
        until("the first client decodes", || first.count() > 3);
        let (second, second_session) = look(&service, codec);
        until("a later client decodes", || second.count() > 3);
        let before = first.count();
        until("the first one goes on", || first.count() > before + 3);
        for client in [&first, &second] {
            assert!(is_red(client.colour().unwrap()), "{codec}: {:?}", client.colour());
        }
        assert_eq!(watchers(&service), 1, "both have one encoder");
        assert_eq!(ask("DELETE", &first_session, &[], None).status, 204);
        assert_eq!(ask("DELETE", &first_session, &[], None).status, 404);
        let before = second.count();
        until("the second one goes on", || second.count() > before + 3);
        assert_eq!(ask("DELETE", &second_session, &[], None).status, 204);
        until("the encoder has stopped", || watchers(&service) == 0);
    }
}

#[test]
fn a_client_stays_while_its_camera_changes_and_is_removed_when_it_goes_or_the_stream_does() {
    let Some((service, codecs)) = start() else { return };
    let (client, _) = look(&service, codecs[0]);
    until("the client sees red", || client.colour().is_some_and(is_red));
    let url = format!("{}/v1/streams/colour", service.url);
    let changed = send("PATCH", &url, &json!({"uri": "test://blue?width=96&height=96&rate=15"}));
    assert_eq!(changed.status, 200, "{changed:?}");
    until("the same client sees blue, of another size", || client.colour().is_some_and(is_blue));
    drop(client);
    until("a client that has gone without a word is removed", || watchers(&service) == 0);

    let (client, session) = look(&service, codecs[0]);
    until("another client sees blue", || client.colour().is_some_and(is_blue));
    assert_eq!(ask("DELETE", &url, &[], None).status, 204);
    assert_eq!(ask("DELETE", &session, &[], None).status, 404, "there is no such stream any more");
    assert_eq!(post(&service, "colour", &Client::new(codecs[0]).1).status, 404);
}

#[test]
fn a_stream_has_a_limit_of_clients_and_those_that_never_connect_make_room() {
    let Some((service, codecs)) = start() else { return };
    // A stream that the limit of another one does not touch.
    service.plays("door");
    let (_client, offer) = Client::new(codecs[0]);
    let sessions: Vec<String> = (0..MOST_OF_A_STREAM)
        .map(|_| session(&service, "colour", &post(&service, "colour", &offer)))
        .collect();
    let refused = post(&service, "colour", &offer);
    assert_eq!(refused.status, 503);
    assert!(refused.error().contains("8 clients look at 'colour'"), "{}", refused.error());
    session(&service, "door", &post(&service, "door", &offer));
    assert_eq!(ask("DELETE", &sessions[0], &[], None).status, 204);
    session(&service, "colour", &post(&service, "colour", &offer));
    until("those that have not connected are removed", || watchers(&service) == 0);
    assert_eq!(ask("DELETE", &sessions[1], &[], None).status, 404);
}

#[test]
fn what_is_no_offer_is_refused_with_a_sentence() {
    let token = scratch("whep").join("token");
    std::fs::write(&token, "0123456789abcdef0123456789abcdef").unwrap();
    let service = Service::start(&(configuration(&format!("token-file = '{}'", token.display())) + CAMERA));
    let url = format!("{}/v1/streams/colour/whep", service.url);
    let sdp = ("content-type", "application/sdp");
    let bearer = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
    assert_eq!(ask("POST", &url, &[sdp], Some(b"v=0\r\n")).status, 401);
    assert_eq!(ask("DELETE", &format!("{url}/1"), &[], None).status, 401);
    let list = ask("GET", &format!("{}/v1/streams", service.url), &[bearer], None).json();
    if list["webrtc"]["missing"].is_string() {
        assert!(std::env::var_os("CUDAINFER_TEST_ALL").is_none(), "{list}");
        return eprintln!("skipped: {}", list["webrtc"]);
    }
    service.plays("colour");
    let video = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=recvonly\r\n\
                 a=rtcp-mux\r\na=setup:actpass\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\n\
                 a=fingerprint:sha-256 19:E2:1C:3B:4B:9F:81:E6:B8:5C:F4:A5:A8:D8:73:04:BB:05:2F:70:9F:04:A9:0E:05:E9:26:33:E8:70:88:A2\r\n\
                 a=rtpmap:96 AV1/90000\r\n";
    let huge = format!("v=0\r\n{}", "a=x\r\n".repeat(60_000));
    let audio = video.replace("m=video", "m=audio");
    for (body, status, part) in [
        ("", 400, "no SDP"),
        ("\u{1f600}", 400, "no SDP"),
        (&audio, 400, "no video"),
        (video, 406, "no codec"),
        (&huge, 413, "too large"),
    ] {
        let answer = ask("POST", &url, &[sdp, bearer], Some(body.as_bytes()));
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.error().contains(part), "{}", answer.error());
    }
    assert_eq!(ask("POST", &url, &[sdp, bearer], Some(b"v=0\r\n\xff")).status, 400);
    assert_eq!(ask("POST", &url, &[bearer], Some(video.as_bytes())).status, 415);
    for method in ["PATCH", "GET"] {
        assert_eq!(ask(method, &format!("{url}/1"), &[bearer], None).status, 405, "{method}");
    }
    assert_eq!(ask("DELETE", &format!("{url}/1"), &[bearer], None).status, 404);
    let unknown = ask("POST", &format!("{url}?colour=red"), &[sdp, bearer], Some(video.as_bytes()));
    assert!(unknown.status == 400 && unknown.error().contains("colour"), "{unknown:?}");
    assert_eq!(watchers(&service), 0);
}
