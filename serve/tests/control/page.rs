//! The page in a browser.

use cudainfer_tests::{scratch, until};
use serde_json::json;

use crate::api::counted;
use crate::browser::{Page, installed};
use crate::service::{Service, configuration, send};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_zone_that_is_drawn_counts() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let token = scratch("page").join("token");
    std::fs::write(&token, TOKEN).unwrap();
    let service = Service::start(&configuration(&format!("token-file = '{}'", token.display())));
    service.plays("door");
    let mut page = Page::open(chromium, &service.url);

    // The page asks for the token; a wrong one is refused with a sentence.
    page.wait("document.querySelector('#login')?.hidden === false");
    for (typed, hidden) in [("wrong", false), (TOKEN, true)] {
        page.evaluate(
            "document.querySelector('#token').value = ''; document.querySelector('#token').focus()",
        );
        page.write(typed);
        page.key("Enter");
        page.wait(&format!("document.querySelector('#login').hidden === {hidden} && document.querySelector('#token').value === ''"));
        // The page forgets a refused token when the answer has come.
        let kept = if hidden { json!(TOKEN) } else { json!(null) };
        page.wait(&format!("sessionStorage.getItem('cudainfer-token') === {kept}"));
    }
    assert_eq!(page.evaluate("sessionStorage.getItem('cudainfer-token')"), json!(TOKEN));

    page.wait("document.querySelector('#list .state')?.textContent === 'playing'");
    page.click("#list a", 0.5, 0.5);
    page.shows_the_camera();
    page.wait("document.querySelectorAll('#zones li').length === 1");
    // What comes later moves what is clicked on.
    page.wait("document.querySelector('#elements .setting') !== null || performance.now() > 20000");

    // A polygon by mouse, and one of its points moved.
    page.click("#new-polygon", 0.5, 0.5);
    for (x, y) in [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.5, 0.98)] {
        page.add_point("#canvas", x, y);
    }
    page.click("#finish", 0.5, 0.5);
    page.drag(".handle[data-point='3']", "#canvas", 0.02, 0.98);
    // A line by keyboard.
    page.click("#new-line", 0.5, 0.5);
    page.key("Enter");
    page.key("Enter");
    page.evaluate("document.querySelector('.handle').focus()");
    page.key("ArrowLeft");
    page.click("#save", 0.5, 0.5);
    page.wait("document.querySelector('#hint').textContent === 'Saved.'");
    assert_eq!(page.evaluate("document.querySelector('#zone-error').textContent"), json!(""));

    let source = service.fleet.source("door").unwrap();
    let names: Vec<_> = source.zones.iter().map(|zone| zone.name.as_str()).collect();
    assert_eq!(names, ["all", "polygon-1", "line-1"]);
    let expected = [[0.02, 0.02], [0.98, 0.02], [0.98, 0.98], [0.02, 0.98]];
    for (point, expected) in source.zones[1].points.iter().zip(expected) {
        // A pixel of the page is about a thousandth of the picture.
        assert!(
            point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.005),
            "{point:?} is not {expected:?}"
        );
    }
    assert_eq!(source.zones[2].points, [[0.49, 0.3], [0.5, 0.5]]);
    until("an object is counted in the zone that was drawn", || counted(&service, "polygon-1") > 0);
}

/// Writes into a field of a form.
#[track_caller]
fn fill(page: &mut Page, field: &str, text: &str) {
    page.click(field, 0.5, 0.5);
    page.write(text);
}

#[test]
fn a_stream_is_added_and_removed() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    let mut page = Page::open(chromium, &service.url);
    page.wait("document.querySelectorAll('#list > li').length === 1");
    page.click("nav a[href='#/setup']", 0.5, 0.5);
    page.wait("document.querySelectorAll('#add select option').length === 2");
    // A wrong form is refused with the service's sentence, and keeps the typed text.
    fill(&mut page, "#add [name=name]", "yard");
    fill(&mut page, "#add [name=uri]", "tset://ball");
    page.evaluate("document.querySelector('#add [name=pipeline]').value = 'plain'");
    page.click("#add-camera", 0.5, 0.5);
    page.wait("document.querySelector('#add .error').textContent.includes('tset')");
    assert_eq!(page.evaluate("document.querySelector('#add [name=name]').value"), json!("yard"));
    assert!(service.fleet.stream("yard").is_none());

    // A source can be looked at before it is a camera.
    page.evaluate("document.querySelector('#add .error').textContent = ''");
    page.click("#try", 0.5, 0.5);
    page.wait("document.querySelector('#add .error').textContent.includes('tset')");
    // While one source is tried, no other one is.
    page.wait("!document.querySelector('#try').disabled");
    page.evaluate("document.querySelector('#add [name=uri]').value = ''");
    // As it is pasted.
    fill(&mut page, "#add [name=uri]", "test://ball?width=64&height=48&rate=5 ");
    page.click("#try", 0.5, 0.5);
    page.wait("document.querySelector('#test-picture').naturalWidth === 640");
    assert!(service.fleet.stream("yard").is_none(), "it was tried only");
    page.click("#add [name=uri]", 0.5, 0.5);
    page.key("Enter");
    // The page goes on to the camera, of which it has a picture.
    page.wait("location.hash === '#/camera/yard'");
    service.plays("yard");
    assert_eq!(service.fleet.source("yard").unwrap().pipeline, "plain");
    assert_eq!(service.fleet.source("yard").unwrap().uri, "test://ball?width=64&height=48&rate=5".into());
    page.shows_the_camera();
    page.wait("document.querySelector('#camera-state').textContent === 'playing'");
    // The page asks first; after "no", the stream stays.
    for answer in [false, true] {
        page.evaluate(&format!("window.confirm = (text) => {{ window.asked = text; return {answer}; }}"));
        page.click("#remove", 0.5, 0.5);
        page.wait("window.asked === 'Remove the camera yard?'");
        page.evaluate("window.asked = null");
        if answer {
            page.wait("document.querySelectorAll('#list > li').length === 1");
            page.wait("document.querySelector('[data-view=camera]').hidden");
            assert!(service.fleet.stream("yard").is_none());
        } else {
            assert!(service.fleet.stream("yard").is_some());
        }
    }
    assert_eq!(page.evaluate("document.querySelector('#failure').textContent"), json!(""));
}

/// All elements are within the screen, and those that are tapped are as large as a finger needs (WCAG 2.2, 2.5.8).
#[track_caller]
fn fits(page: &mut Page, view: &str) {
    let outside = "[...document.querySelectorAll('main *:not(.handle):not(.scroll *)')].filter((e) => { const b = e.getBoundingClientRect(); \
                   return b.width && (b.left < 0 || b.right > innerWidth); }).map((e) => e.outerHTML)";
    let small = "[...document.querySelectorAll('button, input:not([type=checkbox]), select, nav a')].filter((e) => { \
                 const b = e.getBoundingClientRect(); return b.width && (b.width < 24 || b.height < 24); }).map((e) => e.outerHTML)";
    for (what, expression) in [("outside", outside), ("small", small)] {
        assert_eq!(page.evaluate(expression), json!([]), "{what} in {view}");
    }
    assert_eq!(
        page.evaluate("[innerWidth, document.documentElement.scrollWidth]"),
        json!([360, 360]),
        "{view}"
    );
}

#[test]
fn on_a_phone_everything_is_reached_and_a_finger_draws() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    // With a long name and a long error.
    let dead = "[[source]]\nname = 'a-camera-far-beyond-the-northern-warehouse-of-the-second-site'\npipeline = 'plain'\n\
                uri = 'rtsp://127.0.0.1:1/a/path/that/is/longer/than/any/phone/is/wide/and/cannot/be/broken'\n";
    let service = Service::start(&(configuration("") + dead));
    service.plays("door");
    let mut page = Page::open(chromium, &service.url);
    page.become_phone(360);
    page.wait("document.querySelectorAll('#list > li').length === 2");
    until("the long error is shown", || {
        page.evaluate("document.querySelector('#list .error').textContent") != json!("")
    });
    fits(&mut page, "the wall");
    // A state is one word in one line, also next to a long name.
    let lines = "[...document.querySelectorAll('#list .state')].every((e) => e.getClientRects().length === 1 && e.clientHeight < 40)";
    assert_eq!(page.evaluate(lines), json!(true));
    for view in ["events", "timeline", "setup"] {
        page.tap(&format!("nav a[href='#/{view}']"), 0.5, 0.5);
        page.wait(&format!("!document.querySelector('[data-view={view}]').hidden"));
        fits(&mut page, view);
    }
    page.tap("nav a[href='#/wall']", 0.5, 0.5);
    page.tap("#list [data-stream=door]", 0.5, 0.5);
    page.shows_the_camera();
    page.tap("#new-polygon", 0.5, 0.5);
    page.wait("!document.querySelector('#finish').hidden");
    for (x, y) in [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9)] {
        page.tap("#canvas", x, y);
    }
    fits(&mut page, "the camera");
    page.tap("#finish", 0.5, 0.5);
    page.wait("!document.querySelector('#save').disabled");
    page.tap("#save", 0.5, 0.5);
    page.wait("document.querySelector('#hint').textContent === 'Saved.'");
    let zones = service.fleet.source("door").unwrap().zones;
    let expected = [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9]];
    let near = |(point, expected): (&[f64; 2], &[f64; 2])| {
        point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01)
    };
    assert!(zones[1].points.iter().zip(&expected).all(near), "{:?}", zones[1].points);
}

#[test]
fn four_points_on_the_ground_make_a_grid_of_metres_and_are_saved_with_the_zones() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    service.plays("door");
    // A name that would be markup, if a page let it.
    let hostile = "<b>zone<script>";
    let zone = json!({"name": hostile, "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]});
    let zones = json!({"units": "fraction", "zones": [zone]});
    assert_eq!(send("PUT", &format!("{}/v1/streams/door/zones", service.url), &zones).status, 200);
    let mut page = Page::open(chromium, &service.url);
    page.wait("document.querySelector('#list .state')?.textContent === 'playing'");
    page.click("#list a", 0.5, 0.5);
    page.shows_the_camera();
    page.wait("document.querySelectorAll('#zones li').length === 1");
    // What comes later moves what is clicked on.
    page.wait("document.querySelector('#elements .setting') !== null || performance.now() > 20000");
    assert_eq!(page.evaluate("document.querySelectorAll('main b, main script').length"), json!(0));
    assert_eq!(page.evaluate("document.querySelector('#zones input').value"), json!(hostile));

    // Points that cross have no grid; the page says why.
    for points in
        [[(0.3, 0.2), (0.9, 0.9), (0.7, 0.2), (0.1, 0.9)], [(0.3, 0.2), (0.7, 0.2), (0.9, 0.9), (0.1, 0.9)]]
    {
        page.click("#new-ground", 0.5, 0.5);
        page.wait("document.querySelector('#ground-hint').textContent.startsWith('Set point 1 of 4')");
        assert_eq!(page.evaluate("document.querySelector('#save').disabled"), json!(true));
        for (x, y) in points {
            page.add_point("#ground-canvas", x, y);
        }
        if points[1].0 > 0.8 {
            page.wait(
                "document.querySelector('#ground-hint').textContent.startsWith('No ground looks like this')",
            );
            assert_eq!(page.evaluate("document.querySelectorAll('#ground-canvas .grid').length"), json!(0));
        }
    }
    page.wait("document.querySelectorAll('.corner').length === 4");
    for (field, metres) in [("#ground-width", "4"), ("#ground-length", "10")] {
        page.click(field, 0.5, 0.5);
        page.evaluate(&format!("document.querySelector('{field}').select()"));
        page.write(metres);
    }
    page.wait("document.querySelector('#ground-hint').textContent === 'The lines are 1 m apart.'");
    assert_eq!(page.evaluate("document.querySelectorAll('#ground-canvas .grid').length"), json!(5 + 11));
    // The line in the middle of the width ends in the middle of the far side, and of the near one.
    let line = "[...document.querySelectorAll('#ground-canvas .grid')][2].getAttribute('points')";
    let text = page.evaluate(line);
    let middle: Vec<f64> =
        text.as_str().unwrap().split([',', ' ']).map(|number| number.parse().unwrap()).collect();
    let expected = [0.5, 0.2, 0.5, 0.9];
    // A pixel of the page is about a thousandth of the picture.
    assert!(middle.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.005), "{middle:?}");
    page.evaluate("document.querySelector('.corner').focus()");
    page.key("ArrowLeft");

    // The zone reports speeds from now on.
    page.click("#zones summary", 0.1, 0.5);
    fill(&mut page, "#zones [name='min-speed']", "0.5");
    fill(&mut page, "#zones [name='loitering']", "20");
    page.click("#save", 0.5, 0.5);
    page.wait("document.querySelector('#hint').textContent === 'Saved.'");
    let source = service.fleet.source("door").unwrap();
    let ground = source.ground.unwrap();
    let expected = [[0.29, 0.2], [0.7, 0.2], [0.9, 0.9], [0.1, 0.9]];
    let is_near = |(point, expected): (&[f64; 2], &[f64; 2])| {
        point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.005)
    };
    assert!(ground.points.iter().zip(&expected).all(is_near), "{:?}", ground.points);
    assert_eq!(json!(ground.metres), json!([4.0, 10.0]));
    let zone = &source.zones[0];
    assert_eq!((zone.min_speed, zone.loitering, zone.inertia), (Some(0.5), Some(20.0), None));

    // What the service refuses is shown, and stays as it was.
    page.click("#remove-ground", 0.5, 0.5);
    page.click("#save", 0.5, 0.5);
    page.wait("document.querySelector('#zone-error').textContent.includes('min-speed')");
    assert!(service.fleet.source("door").unwrap().ground.is_some());
    // The page loads what is there.
    page.click("#revert", 0.5, 0.5);
    page.wait("document.querySelectorAll('#ground-canvas .grid').length === 16");
    assert_eq!(page.evaluate("document.querySelector('#ground-length').value"), json!("10"));
}

#[test]
fn a_click_of_these_tests_is_repeated_where_the_page_moves_between_press_and_release() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let mut page = Page::open(chromium, "data:text/html,<p id=above></p><button>Clicked</button>");
    page.evaluate(
        "const button = document.querySelector('button'); window.clicks = 0; button.addEventListener('click', () => window.clicks++); \
         button.addEventListener('pointerdown', () => { document.querySelector('#above').style.height = '500px'; })",
    );
    page.click("button", 0.5, 0.5);
    assert_eq!(page.evaluate("window.clicks"), json!(1));
}
