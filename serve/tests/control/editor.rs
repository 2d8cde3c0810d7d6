//! The editor of zones on the page: what the service has and what is drawn are never lost without a word.

use cudainfer_tests::until;
use serde_json::json;

use crate::browser::{Page, installed};
use crate::service::{Service, configuration};

/// Two cameras, and the page of the first, `door`, whose requests for zones a test can refuse or hold back.
fn open() -> Option<(Service, Page)> {
    let Some(chromium) = installed() else {
        eprintln!("skipped: there is no chromium");
        return None;
    };
    let yard =
        "[[source]]\nname = 'yard'\npipeline = 'plain'\nuri = 'test://red?width=320&height=240&rate=5'\n";
    let service = Service::start(&(configuration("") + yard));
    service.plays("door");
    let script = "
        window.refused = true; window.saves = 0; window.held = null; const ask = window.fetch;
        window.fetch = async (path, options) => {
          if (options?.method === 'DELETE') await window.held;
          if (!path.endsWith('/zones')) return ask(path, options);
          if (options.method === 'PUT' && window.wrong) {
            await window.held;
            return Response.json({ error: 'no such zones' }, { status: 400 });
          }
          if (options.method === 'GET' && window.refused) return Response.json({ error: 'no zones now' }, { status: 500 });
          const answer = await ask(path, options);
          if (options.method === 'PUT') {
            window.saves += 1;
            await window.held;
          }
          return answer;
        };
        window.hold = () => { window.held = new Promise((done) => { window.release = done; }); };";
    let mut page = Page::open_with(chromium, &format!("{}/#/camera/door", service.url), script);
    page.wait("document.querySelector('#zone-error').textContent === 'no zones now'");
    assert_eq!(
        page.evaluate("document.querySelector('#zones-editor').checkVisibility()"),
        json!(false),
        "whoever drew without knowing what is there would replace it"
    );
    page.wait("document.querySelector('#thresholds').checkVisibility({ visibilityProperty: true })");
    // It is tried again.
    page.evaluate("window.refused = false");
    page.wait("document.querySelectorAll('#zones li').length === 1 && document.querySelector('#zones-editor').checkVisibility()");
    assert_eq!(page.evaluate("document.querySelector('#zone-error').textContent"), json!(""));
    Some((service, page))
}

/// Goes on to the other camera.
fn open_yard(page: &mut Page) {
    page.evaluate("location.hash = '#/camera/yard'");
    page.wait("document.querySelector('#camera-title').textContent === 'yard'");
    page.wait("document.querySelector('#zones-editor').checkVisibility({ visibilityProperty: true })");
}

/// Adds a letter to the name of the first zone.
fn rename(page: &mut Page, letter: &str) {
    page.click("#zones input", 0.5, 0.5);
    page.key("End");
    page.write(letter);
}

/// The names of the zones of `door` that the service has.
fn names(service: &Service) -> Vec<String> {
    service.fleet.source("door").unwrap().zones.iter().map(|zone| zone.name.clone()).collect()
}

#[test]
fn an_answer_to_a_save_that_comes_late_changes_no_newer_edit_and_no_other_camera() {
    let Some((service, mut page)) = open() else { return };
    page.evaluate("window.hold()");
    rename(&mut page, "1");
    page.click("#save", 0.5, 0.5);
    page.wait("window.saves === 1");
    rename(&mut page, "2");
    page.evaluate("window.release()");
    // What was typed meanwhile stays, and can be saved.
    page.wait("document.querySelector('#hint').textContent === ''");
    page.evaluate("new Promise((done) => setTimeout(done, 200))");
    assert_eq!(page.evaluate("document.querySelector('#zones input').value"), json!("all12"));
    assert_eq!(page.evaluate("document.querySelector('#save').disabled"), json!(false));
    assert_eq!(names(&service), ["all1"]);

    page.evaluate("window.hold(); window.confirm = () => true");
    page.click("#save", 0.5, 0.5);
    page.wait("window.saves === 2");
    open_yard(&mut page);
    page.evaluate("window.release()");
    page.evaluate("new Promise((done) => setTimeout(done, 200))");
    assert_eq!(page.evaluate("document.querySelectorAll('#zones li').length"), json!(0));
    assert_eq!(page.evaluate("document.querySelector('#save').disabled"), json!(true));
    assert_eq!(names(&service), ["all12"]);
}

#[test]
fn whoever_saves_over_what_somebody_else_has_saved_is_asked_first() {
    let Some((service, mut page)) = open() else { return };
    rename(&mut page, "1");
    service.enter(&["other"]);
    page.wait(
        "document.querySelector('#zones-elsewhere').textContent.startsWith('Somebody else has changed')",
    );
    page.evaluate("window.confirm = (text) => { window.question = text; return false; }");
    page.click("#save", 0.5, 0.5);
    page.wait("window.question?.startsWith('Somebody else has changed')");
    assert_eq!(names(&service), ["other"]);
    assert_eq!(page.evaluate("document.querySelector('#zones input').value"), json!("all1"));
    // What is discarded makes room for theirs.
    page.click("#revert", 0.5, 0.5);
    page.wait("document.querySelector('#zones input').value === 'other'");
    assert_eq!(page.evaluate("document.querySelector('#zones-elsewhere').textContent"), json!(""));
    assert_eq!(page.evaluate("document.querySelector('#save').disabled"), json!(true));

    // The same where the page finds it only when it saves.
    rename(&mut page, "2");
    service.enter(&["third"]);
    page.evaluate(
        "window.question = null; window.confirm = (text) => { window.question = text; return true; }",
    );
    page.click("#save", 0.5, 0.5);
    page.wait("document.querySelector('#hint').textContent === 'Saved.'");
    assert!(page.evaluate("window.question").is_string());
    until("the zones are those of the page", || names(&service) == ["other2"]);
    // The editor stays as it is when the service has taken it over.
    page.click("#zones li button", 0.5, 0.5);
    page.wait("document.querySelectorAll('.handle').length === 4");
    page.evaluate("new Promise((done) => setTimeout(done, 6000))");
    assert_eq!(page.evaluate("document.querySelectorAll('.handle').length"), json!(4));
}

#[test]
fn what_comes_late_of_one_camera_is_not_shown_at_another_and_does_not_leave_it() {
    let Some((service, mut page)) = open() else { return };
    page.evaluate("window.hold(); window.wrong = true; window.confirm = () => true");
    rename(&mut page, "1");
    page.click("#save", 0.5, 0.5);
    page.click("#remove", 0.5, 0.5);
    open_yard(&mut page);
    page.evaluate("window.release()");
    until("the camera is removed", || service.fleet.source("door").is_none());
    page.wait("document.querySelector('#summary').textContent.endsWith('of 1 cameras play')");
    assert_eq!(page.evaluate("document.querySelector('#zone-error').textContent"), json!(""));
    assert_eq!(page.evaluate("location.hash"), json!("#/camera/yard"));
}
