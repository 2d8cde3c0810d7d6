//! The wall of cameras in a browser.

use std::path::PathBuf;

use serde_json::json;

use crate::browser::{Page, installed};
use crate::service::{Service, configuration, configuration_of};

/// Counts the pictures that came of each camera, the requests for them at a time, and the decoded pictures that are not released.
const COUNTING: &str = "
window.pictures = {}; window.most = 0; window.bitmaps = 0; window.urls = 0;
let underWay = 0;
const ask = window.fetch, decode = window.createImageBitmap, close = ImageBitmap.prototype.close, create = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.urls += 1; return create.call(URL, blob); };
window.createImageBitmap = async (...all) => { const bitmap = await decode(...all); window.bitmaps += 1; return bitmap; };
ImageBitmap.prototype.close = function () { window.bitmaps -= 1; return close.call(this); };
window.fetch = async (path, options) => {
  const names = new URLSearchParams(path.split('?')[1]).get('pictures');
  if (!names) return ask(path, options);
  underWay += 1;
  window.most = Math.max(window.most, underWay);
  try { return await ask(path, options); } finally {
    underWay -= 1;
    for (const name of names.split(',').map((each) => each.split(':')[0])) window.pictures[name] = (window.pictures[name] ?? 0) + 1;
  }
};";

fn cameras(count: usize) -> String {
    (0..count).map(|i| format!("[[source]]\nname = 'c{i:02}'\npipeline = 'plain'\nuri = 'test://ball?width=320&height=240&rate=10'\n")).collect()
}

#[test]
fn every_camera_that_is_in_view_has_a_live_picture_its_figures_and_its_counts() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&(configuration("") + &cameras(15)));
    service.plays("door");
    let mut page = Page::open_with(chromium, &service.url, COUNTING);
    page.become_window(1280, 500, "light");
    // What was in view before the window became small does not count.
    page.evaluate("location.hash = '#/setup'");
    page.wait("document.querySelectorAll('#list > li').length === 0");
    page.evaluate("window.pictures = {}; location.hash = '#/wall'");
    page.wait("document.querySelectorAll('#list > li').length === 16");
    page.wait("document.querySelector('[data-stream=c00] canvas').width === 320");
    page.wait("window.pictures.c00 > 5");
    assert_eq!(
        page.evaluate("window.pictures.door ?? 0"),
        json!(0),
        "a camera below the window is not asked for"
    );
    assert_eq!(page.evaluate("window.most"), json!(1), "a picture is asked for when the last one has come");
    // The test picture has a white ball.
    let white = "(() => { const canvas = document.querySelector('[data-stream=c00] canvas'); const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, \
                 canvas.height).data; return all.some((value, index) => index % 4 === 0 && value > 200); })()";
    assert_eq!(page.evaluate(white), json!(true), "a picture is drawn");

    page.evaluate("document.querySelector('[data-stream=door]').scrollIntoView()");
    page.wait("window.pictures.door > 1");
    let card = "document.querySelector('[data-stream=door]').closest('li')";
    page.wait(&format!("{card}.querySelector('.state').textContent === 'playing'"));
    page.wait(&format!("Number({card}.querySelector('dd').textContent) > 0"));
    page.wait(&format!("/^all: 1 inside, 1 entered/.test({card}.querySelector('.counts').textContent)"));
    let figures = format!("[...{card}.querySelectorAll('dt')].map((e) => e.textContent)");
    assert_eq!(page.evaluate(&figures), json!(["Frames/s", "Lag", "Dropped"]));

    // Another view asks for none of them.
    page.evaluate("location.hash = '#/setup'");
    page.wait("document.querySelectorAll('#list > li').length === 0");
    // Nothing of them is kept.
    page.wait("window.bitmaps === 0");
    assert_eq!(page.evaluate("window.urls"), json!(0));
}

#[test]
fn a_picture_comes_up_to_five_times_a_second_and_one_of_many_more_than_once() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    let mut page = Page::open(chromium, &service.url);
    let pause = |page: &mut Page, view: u32, took: u32| {
        let expression = format!("import('/page/pace.js').then((pace) => pace.pause({view}, {took}))");
        page.evaluate(&expression).as_f64().unwrap()
    };
    assert_eq!(pause(&mut page, 1, 20) + 20.0, 200.0);
    assert!(pause(&mut page, 16, 20) + 20.0 < 1000.0);
    assert!(pause(&mut page, 200, 20) + 20.0 < 1000.0, "no picture is older than a second");
    assert_eq!(pause(&mut page, 16, 1000), 2000.0, "what is slow gets time");
}

#[test]
fn the_views_are_reached_by_keyboard_and_an_address_leads_to_each() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    service.plays("door");
    let mut page = Page::open(chromium, &format!("{}/#/camera/door", service.url));
    page.wait("document.title === 'door – cudainfer'");
    page.wait("document.querySelectorAll('#zones li').length === 1");
    page.evaluate("document.querySelector('nav a').focus()");
    let reached = |page: &mut Page| page.evaluate("document.activeElement.textContent");
    for (name, title) in [("Events", "Events"), ("Timeline", "Timeline"), ("Setup", "Setup")] {
        page.evaluate(&format!(
            "[...document.querySelectorAll('nav a')].find((a) => a.textContent === '{name}').focus()"
        ));
        page.key("Enter");
        page.wait(&format!("document.title === '{title} – cudainfer'"));
        // The heading has the focus, so that a screen reader reads on from there.
        assert_eq!(reached(&mut page), json!(title));
        assert_eq!(
            page.evaluate("document.querySelector('nav [aria-current=page]').textContent"),
            json!(name)
        );
    }
    // What is drawn and not saved is left only after a question.
    page.evaluate("location.hash = '#/camera/door'");
    page.wait("document.querySelectorAll('#zones li').length === 1");
    page.click("#zones input", 0.5, 0.5);
    page.write("x");
    page.evaluate(
        "window.confirm = (text) => { window.asked = text; return false; }; location.hash = '#/wall'",
    );
    page.wait("window.asked === 'Discard the zones that are not saved?'");
    assert_eq!(
        page.evaluate("[location.hash, document.querySelector('[data-view=camera]').hidden]"),
        json!(["#/camera/door", false])
    );
    page.evaluate("window.confirm = () => true; location.hash = '#/wall'");
    page.wait("!document.querySelector('[data-view=wall]').hidden");
    page.evaluate("location.hash = '#/camera/nobody'");
    page.wait("location.hash === '#/wall'");
}

/// The page of the camera `door`; `window.pictures` has the paths of the pictures that it has asked for.
fn door_and_pictures(chromium: PathBuf, service: &Service) -> Page {
    Page::open_with(
        chromium,
        &format!("{}/#/camera/door", service.url),
        "
        window.pictures = []; const ask = window.fetch;
        window.fetch = (path, options) => {
          if (path.includes('live.jpg')) window.pictures.push(path);
          return ask(path, options);
        };",
    )
}

#[test]
fn zones_that_somebody_else_changes_are_shown_and_are_drawn_once() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    service.plays("door");
    let mut page = door_and_pictures(chromium, &service);
    page.wait("document.querySelectorAll('#zones li').length === 1");
    page.shows_the_camera();
    // The page draws zones, so that the picture has none.
    let pictures = page.evaluate("window.pictures");
    assert!(
        pictures.as_array().unwrap().iter().all(|path| path.as_str().unwrap().contains("zones=false")),
        "{pictures}"
    );
    let zones = json!({"units": "fraction", "zones": [
        {"name": "<script>window.hit</script><img src>", "kind": "polygon", "points": [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9]], "anchor": "center"},
        {"name": "line", "kind": "line", "points": [[1, 0.5], [0, 0.5]]}]});
    assert_eq!(
        crate::service::send("PUT", &format!("{}/v1/streams/door/zones", service.url), &zones).status,
        200
    );
    page.wait("document.querySelectorAll('#zones li').length === 2");
    assert_eq!(
        page.evaluate("document.querySelector('.zone-label').textContent"),
        json!("<script>window.hit</script><img src>")
    );
    let outside = "(() => { const boxes = (selector) => [...document.querySelectorAll(selector)].map((e) => e.getBoundingClientRect()); \
                   const [picture] = boxes('#picture'); return boxes('.zone-label').filter((name) => name.left < picture.left - 1 || \
                   name.right > picture.right + 1 || name.top < picture.top - 1 || name.bottom > picture.bottom + 1).length; })()";
    assert_eq!(page.evaluate(outside), json!(0), "every zone's name is in the picture");
    assert_eq!(page.evaluate("document.querySelector('#zones [name=anchor]').value"), json!("center"));
    // A click on a zone chooses it in the list.
    page.click("#canvas path", 0.9, 0.3);
    page.wait("document.querySelector('#zones li').classList.contains('chosen') && document.querySelectorAll('.handle').length === 3");
    page.evaluate(
        "document.querySelector('#zones [name=anchor]').value = 'top-center'; \
                   document.querySelector('#zones [name=anchor]').dispatchEvent(new Event('change'))",
    );
    page.click("#save", 0.5, 0.5);
    page.wait("document.querySelector('#hint').textContent === 'Saved.'");
    assert_eq!(service.fleet.source("door").unwrap().zones[0].anchor.as_deref(), Some("top-center"));
    assert_eq!(
        page.evaluate("document.querySelectorAll('main script, main img:not([alt])').length"),
        json!(0)
    );
}

#[test]
fn zones_of_the_pipeline_are_named_and_drawn_in_the_picture_until_others_are_saved() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let text = configuration_of("own-zones", "");
    let text = text.replace(
        "zonecount units=fraction",
        "zonecount units=fraction zones=\"lobby=polygon:0,0,1,0,1,1,0,1;stairs=line:0,0.5,1,0.5\"",
    );
    let given = "zones = [{ name = 'all', kind = 'polygon', points = [[0, 0], [1, 0], [1, 1], [0, 1]] }]\nzone-units = 'fraction'\n";
    assert!(text.contains(given), "{text}");
    let service = Service::start(&text.replace(given, ""));
    service.plays("door");
    let mut page = door_and_pictures(chromium, &service);
    page.wait("document.querySelector('#pipeline-zones').textContent.includes('lobby, stairs')");
    page.wait("window.pictures.at(-1)?.includes('zones=true')");
    service.enter(&["own"]);
    page.wait("document.querySelectorAll('#zones li').length === 1 && document.querySelector('#pipeline-zones').textContent === ''");
    page.wait("window.pictures.at(-1).includes('zones=false')");
}

#[test]
fn a_threshold_of_the_page_takes_effect_while_the_camera_plays() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    // The page may be there before the camera plays: its elements are shown when it does.
    let mut page = Page::open(chromium, &format!("{}/#/camera/door", service.url));
    page.wait("document.querySelector('#set-gpunms-confidence') !== null");
    page.click("#thresholds summary", 0.1, 0.5);
    page.click("#set-gpunms-confidence", 0.3, 0.5);
    // Half of what is typed is no value.
    page.evaluate(
        "for (const text of ['1', '15']) { const field = document.querySelector('#set-gpunms-confidence'); field.value = text; \
         field.dispatchEvent(new Event('input')); } new Promise((done) => setTimeout(done, 600))",
    );
    assert!(service.fleet.source("door").unwrap().overrides.is_empty());
    let answer = "document.querySelector('#set-gpunms-confidence').closest('.setting').querySelector('.answer').textContent";
    assert!(page.evaluate(answer).as_str().unwrap().contains('1'), "the limit");
    page.evaluate("document.querySelector('#set-gpunms-confidence').select()");
    page.write("0.37");
    page.wait("document.querySelector('#set-gpunms-confidence').closest('.setting').querySelector('.answer').textContent === 'In use.'");
    let overrides = service.fleet.source("door").unwrap().overrides;
    assert_eq!(overrides["gpunms.confidence"].to_string(), "0.37");
    // How the model is read is shown next to it.
    assert!(
        page.evaluate("document.querySelector('#elements .reading').textContent")
            .as_str()
            .is_some_and(|text| text.len() > 10)
    );
}

#[test]
fn settings_that_were_not_there_are_shown_when_they_are() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    service.plays("door");
    // As a camera answers while its pipeline is made again.
    let early = "window.early = true; const real = fetch; window.fetch = (path, options) => window.early && \
                 String(path).endsWith('/elements') ? Promise.resolve(new Response('{\"elements\": []}')) : real(path, options);";
    let mut page = Page::open_with(chromium, &format!("{}/#/camera/door", service.url), early);
    page.wait("document.querySelector('#camera-state').textContent === 'playing'");
    page.wait("document.querySelector('#elements-error').textContent.includes('no pipeline now')");
    page.evaluate("window.early = false");
    page.wait("document.querySelector('#elements .setting') !== null");
    assert_eq!(page.evaluate("document.querySelector('#elements-error').textContent"), json!(""));
}

#[test]
fn pictures_and_states_that_are_no_longer_true_are_seen_to_be_old() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&configuration(""));
    service.plays("door");
    let script = "
        const ask = window.fetch;
        window.fetch = async (path, options) => {
          if (window.gone && path.startsWith('v1/live?')) return new Response('[{\"status\": 503, \"error\": \"none\"}]\\n');
          if (window.silent && path === 'v1/streams') throw new TypeError('no network');
          return ask(path, options);
        };";
    let mut page = Page::open_with(chromium, &service.url, script);
    let sentence = "document.querySelector('.no-picture')?.textContent";
    page.wait(&format!("document.querySelector('#list canvas')?.width > 300 && {sentence} === ''"));
    page.evaluate("window.gone = true");
    page.wait(&format!("{sentence}.startsWith('No picture since ')"));
    assert_eq!(
        page.evaluate("document.querySelector('#list canvas').classList.contains('old')"),
        json!(true)
    );
    page.evaluate("window.gone = false");
    page.wait(&format!(
        "{sentence} === '' && !document.querySelector('#list canvas').classList.contains('old')"
    ));

    // A service that does not answer.
    page.evaluate("window.silent = true");
    page.wait("document.body.classList.contains('stale')");
    page.wait(
        "/does not answer. What is shown is of .*[0-9]/.test(document.querySelector('#failure').textContent)",
    );
    page.evaluate("window.silent = false");
    page.wait(
        "!document.body.classList.contains('stale') && document.querySelector('#failure').textContent === ''",
    );
}
