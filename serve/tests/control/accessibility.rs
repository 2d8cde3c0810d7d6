//! Whether everybody can use the page: axe-core's rules (WCAG 2.2 A and AA, best practices), in every view, light and dark, wide and narrow.

use cudainfer_tests::root;
use serde_json::{Value, json};

use crate::browser::{Page, installed};
use crate::service::{Service, configuration};
use crate::views::HISTORY;

/// axe-core, if scripts/setup has fetched it.
fn axe() -> Option<String> {
    let text = std::fs::read_to_string(root().join(".cache/axe/axe.min.js")).ok();
    let needed = std::env::var_os("CUDAINFER_TEST_ALL").is_some();
    assert!(text.is_some() || !needed, "there is no axe-core: for_tests=yes scripts/setup fetches it");
    text
}

/// What axe finds wrong: the rule, and the elements.
fn violations(page: &mut Page) -> Value {
    page.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => \
         [id, ...nodes.map((node) => `${node.html} ${node.failureSummary}`)]))",
    )
}

/// Asserts that axe finds nothing in the view that is open; if there is no axe-core, that is not tested.
#[track_caller]
pub(crate) fn finds_nothing(page: &mut Page, view: &str) {
    let Some(axe) = axe() else { return eprintln!("skipped: there is no axe-core") };
    page.evaluate(&axe);
    assert_eq!(violations(page), json!([]), "{view}");
}

#[test]
fn axe_finds_nothing_in_any_view_light_and_dark_wide_and_narrow() {
    let (Some(chromium), Some(axe)) = (installed(), axe()) else {
        return eprintln!("skipped: there is no chromium, or no axe-core");
    };
    let dead = "[[source]]\nname = 'a-camera-far-beyond-the-northern-warehouse-of-the-second-site'\npipeline = 'plain'\n\
                uri = 'rtsp://127.0.0.1:1/none'\n";
    let service = Service::start(&(configuration("") + dead));
    service.plays("door");
    let mut page = Page::open_with(chromium, &service.url, &format!("{{{HISTORY}}}"));
    page.evaluate(&axe);
    page.wait("document.querySelectorAll('#list > li').length === 2");
    for (scheme, width) in [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 2560)] {
        page.become_window(width, 1400, scheme);
        for (address, ready) in [
            ("wall", "document.querySelector('[data-stream=door] canvas')?.width === 320"),
            (
                "camera/door",
                "document.querySelector('#set-gpunms-confidence') && document.querySelector('#zones li')",
            ),
            ("events", "document.querySelectorAll('#event-list li').length === 3"),
            ("event/3", "document.querySelector('#playback').open"),
            ("timeline", "document.querySelectorAll('#charts figure').length === 7"),
            ("setup", "document.querySelectorAll('#pipelines tr').length === 2"),
        ] {
            page.evaluate(&format!("location.hash = '#/{address}'"));
            page.wait(&format!("Boolean({ready})"));
            page.evaluate("document.querySelectorAll('section:not([hidden]) details').forEach((each) => { each.open = true; })");
            assert_eq!(violations(&mut page), json!([]), "{address}, {scheme}, {width} px");
        }
    }
}
