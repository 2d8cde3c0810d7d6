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

/// Looks whether zones are drawn on the whole frame, which has the shape of the camera's, in windows of every shape.
fn zones_lie_on(shown: &str, page: &mut Page) {
    for (width, height) in [(1280, 900), (1280, 500), (2560, 600), (390, 740)] {
        page.become_window(width, height, "light");
        page.wait(&format!(
            "(() => {{ const [frame, zones, picture] = ['{shown}', '#canvas', '#picture'].map((e) => document.querySelector(e).getBoundingClientRect()); \
             return ['x', 'y', 'width', 'height'].every((key) => Math.abs(frame[key] - zones[key]) < 1 && Math.abs(frame[key] - picture[key]) < 1) \
             && Math.abs(frame.width / frame.height - 320 / 240) < 0.02 && frame.height < {height} && innerWidth === {width}; }})()"
        ));
    }
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
    zones_lie_on("#live-video", &mut page);
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
        zones_lie_on("#snapshot", &mut page);
    }
}

#[test]
fn what_can_be_clicked_does_not_move_while_a_view_arrives() {
    let moved = "window.moved = []; new PerformanceObserver((list) => { for (const { sources } of list.getEntries()) for (const { node } of sources) \
                 if (node?.querySelector?.('button, a, summary, input, select')) window.moved.push(node.id || node.className || node.nodeName); }) \
                 .observe({ type: 'layout-shift', buffered: true });";
    let Some((service, mut page)) = open(moved) else { return };
    page.wait("!document.querySelector('#live-video').hidden && document.querySelector('#elements .setting') !== null");
    let seen = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(window.moved.join()), 100))))";
    // The page's own header comes before everything else.
    let first = page.evaluate(seen);
    assert!(["", "MAIN"].iter().any(|text| first == json!(text)), "{first}");
    page.evaluate(&format!("window.moved = []; location.href = '{}/#/setup'", service.url));
    page.wait(
        "document.querySelector('#pipelines tr')?.checkVisibility({ visibilityProperty: true }) === true",
    );
    assert_eq!(page.evaluate(seen), json!(""));
}
