//! The page in a browser.

use cudainfer_tests::{scratch, until};
use serde_json::json;

use crate::api::counted;
use crate::browser::{Page, installed};
use crate::service::{Service, configuration};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_zone_that_is_drawn_counts() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let token = scratch("page").join("token");
    std::fs::write(&token, TOKEN).unwrap();
    let service = Service::start(&configuration(&format!("token-file = '{}'", token.display())));
    service.plays("door");
    let mut page = Page::open(chromium, &service.url);

    // The token is asked for; a wrong one is refused in a sentence.
    page.wait("document.querySelector('#login')?.hidden === false");
    for (typed, hidden) in [("wrong", false), (TOKEN, true)] {
        page.evaluate(
            "document.querySelector('#token').value = ''; document.querySelector('#token').focus()",
        );
        page.write(typed);
        page.key("Enter");
        page.wait(&format!("document.querySelector('#login').hidden === {hidden} && document.querySelector('#token').value === ''"));
        // A refused one is forgotten when the answer has come.
        let kept = if hidden { json!(TOKEN) } else { json!(null) };
        page.wait(&format!("sessionStorage.getItem('cudainfer-token') === {kept}"));
    }
    assert_eq!(page.evaluate("sessionStorage.getItem('cudainfer-token')"), json!(TOKEN));

    page.wait("document.querySelector('#list .state')?.textContent === 'playing'");
    page.click("#list button", 0.5, 0.5);
    page.wait("document.querySelector('#snapshot').naturalWidth > 0");
    page.wait("document.querySelectorAll('#zones li').length === 1");

    // A polygon by mouse, and one of its points moved.
    page.click("#new-polygon", 0.5, 0.5);
    for (x, y) in [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.5, 0.98)] {
        page.click("#canvas", x, y);
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
        // A pixel of the page is about a thousandth.
        assert!(
            point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.005),
            "{point:?} is not {expected:?}"
        );
    }
    assert_eq!(source.zones[2].points, [[0.49, 0.3], [0.5, 0.5]]);
    until("an object is counted in the zone that was drawn", || counted(&service, "polygon-1") > 0);
}
