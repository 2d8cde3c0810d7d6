//! The camera's large picture in a browser: video by WebRTC, or JPEG where there is none.

use cudainfer_tests::until;
use serde_json::json;

use crate::browser::{Page, installed};
use crate::service::{Service, configuration};
use crate::whep::encoders;

/// A service, and a page that shows its camera, in which `script` runs first.
fn open(script: &str) -> Option<(Service, Page)> {
    let Some(chromium) = installed() else {
        eprintln!("skipped: there is no chromium");
        return None;
    };
    let service = Service::start(&configuration(""));
    encoders(&service)?;
    service.plays("door");
    let page = Page::open_with(chromium, &format!("{}/#/camera/door", service.url), script);
    Some((service, page))
}

/// How many pipelines get frames besides the stream's own.
fn watchers(service: &Service) -> usize {
    service.fleet.outputs("door").map_or(0, |outputs| outputs.watchers())
}

#[test]
fn the_cameras_video_plays_where_its_picture_was_and_ends_with_the_view() {
    let Some((service, mut page)) = open("") else { return };
    page.wait("(() => { const v = document.querySelector('#live-video'); return !v.hidden && v.videoWidth === 320; })()");
    page.evaluate("window.before = document.querySelector('#live-video').currentTime");
    page.wait("document.querySelector('#live-video').currentTime > window.before + 0.5");
    assert_eq!(page.evaluate("document.querySelector('#snapshot').hidden"), json!(true));
    assert_eq!(
        page.evaluate("document.querySelector('#live-video').getAttribute('aria-label')"),
        json!("Picture of door")
    );
    // Zones are drawn on it as on the picture.
    let boxes = "['#live-video', '#canvas'].map((e) => document.querySelector(e).getBoundingClientRect()).map((b) => [b.x, b.y, b.width])";
    let boxes = page.evaluate(boxes);
    assert_eq!(boxes[0], boxes[1]);
    // What is drawn is another session's.
    // The picture is shown between the two, which may be for a moment.
    page.evaluate(
        "new MutationObserver(() => { window.hadPicture ||= !document.querySelector('#snapshot').hidden; }) \
         .observe(document.querySelector('#snapshot'), { attributes: true })",
    );
    page.evaluate("document.querySelector('#overlay').click()");
    page.wait("window.hadPicture && !document.querySelector('#live-video').hidden");
    page.evaluate("location.hash = '#/wall'");
    until("nothing is encoded when nobody looks", || watchers(&service) == 0);
    page.wait("document.querySelector('#live-video').srcObject === null");
    page.evaluate("location.hash = '#/camera/door'");
    page.wait("!document.querySelector('#live-video').hidden");
    assert_eq!(watchers(&service), 1);
}

#[test]
fn where_the_video_fails_the_picture_is_shown() {
    let refused = "const asked = fetch; window.sessions = 0; window.fetch = async (path, options) => { \
                   if (!String(path).includes('/whep')) return asked(path, options); \
                   window.sessions += 1; return new Response(JSON.stringify({ error: 'no' }), { status: 500 }); };";
    // A connection that never comes about, as where a proxy passes HTTP only.
    let silent = "window.sessions = 0; RTCPeerConnection.prototype.setRemoteDescription = async () => { window.sessions += 1; };";
    for script in [refused, silent] {
        let Some((_service, mut page)) = open(script) else { return };
        page.wait("window.sessions === 1");
        page.wait("document.querySelector('#snapshot').naturalWidth > 0");
        page.evaluate("window.shown = document.querySelector('#snapshot').src");
        page.wait("document.querySelector('#snapshot').src !== window.shown");
        assert_eq!(page.evaluate("document.querySelector('#snapshot').hidden"), json!(false));
        assert_eq!(page.evaluate("document.querySelector('#live-video').hidden"), json!(true));
        assert_eq!(page.evaluate("document.querySelector('#camera-failure').textContent"), json!(""));
    }
}
