//! The views of the page that show what has been: events, timeline, best pictures. A script in the page answers in place of the history.

use serde_json::{Value, json};

use crate::browser::{Page, installed};
use crate::service::{Service, configuration};

pub(crate) const HISTORY: &str = include_str!("history.js");
const HOSTILE: &str = "<img src=x onerror=\"window.hit=1\">";

fn open(address: &str, script: &str) -> Option<(Service, Page)> {
    let chromium = installed()?;
    let service = Service::start(&configuration(""));
    service.plays("door");
    let url = format!("{}/{address}", service.url);
    let page = Page::open_with(chromium, &url, &format!("{{{HISTORY}}}{script}"));
    Some((service, page))
}

fn texts(page: &mut Page, selector: &str) -> Value {
    page.evaluate(&format!("[...document.querySelectorAll({selector:?})].map((e) => e.textContent)"))
}

#[test]
fn events_are_listed_as_they_happen_and_no_text_of_theirs_is_markup() {
    let Some((_service, mut page)) = open("#/events", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    page.wait("document.querySelectorAll('#event-list li').length === 3");
    page.wait(
        "document.querySelector('#events-status').textContent === 'New events are added as they happen.'",
    );
    let hostile = format!("{HOSTILE} track 2 entry at {HOSTILE}");
    assert_eq!(
        texts(&mut page, ".event-text"),
        json!(["person track 3 entry at gate", hostile, "person track 1 seen"])
    );
    page.wait("document.querySelector('#event-list img')?.naturalWidth > 0");

    // A new event comes first; what becomes known of it later is shown in its place.
    page.evaluate(
        "window.push('event', { ...window.stored[0], id: 4, track: 4, snapshot: null, recording: null })",
    );
    page.wait("document.querySelectorAll('#event-list li').length === 4");
    assert_eq!(page.evaluate("document.querySelector('#event-list button').textContent"), json!("Details"));
    page.evaluate("window.push('update', { ...window.stored[0], id: 4, track: 4 })");
    page.wait("document.querySelector('#event-list button').textContent === 'Play'");
    page.wait("document.querySelector('#event-list img')?.naturalWidth > 0");
    // The picture of the event's own frame makes room for the best one of its track.
    let shown = "document.querySelector('#event-list img').dataset.path";
    page.evaluate("window.push('update', { ...window.stored[0], id: 4, track: 4, snapshot: 'v1/streams/door/snapshots/best.jpg' })");
    page.wait(&format!("{shown} === 'v1/streams/door/snapshots/best.jpg'"));
    assert_eq!(page.evaluate("document.querySelectorAll('#event-list li:first-child img').length"), json!(1));
    page.evaluate("window.push('update', { ...window.stored[0], id: 4, track: 4 })");
    // An update of an event that is not in the list adds none.
    page.evaluate("window.push('update', { ...window.stored[0], id: 99 })");
    assert_eq!(page.evaluate("document.querySelectorAll('#event-list li').length"), json!(4));
    assert_eq!(page.evaluate("window.hit ?? null"), Value::Null);
    assert_eq!(page.evaluate("document.querySelectorAll('main img[src=x]').length"), json!(0));

    // After a connection that broke, events go on after the last one, and what the service had no time to send is in the list.
    page.evaluate("window.stored.unshift({ ...window.stored[0], id: 5 }); window.cut()");
    page.wait("window.lastId === '99'");
    page.wait(
        "[...document.querySelectorAll('#event-list li')].map((e) => e.dataset.id).join() === '5,4,3,2,1'",
    );

    // A page that nobody sees has no connection: browsers allow six for all pages of a service.
    page.evaluate("window.see(false)");
    page.wait("window.connection.aborted");
    page.evaluate("window.stored.unshift({ ...window.stored[0], id: 6 }); window.see(true)");
    page.wait("document.querySelector('#event-list li').dataset.id === '6' && !window.connection.aborted");

    // The filter holds for the list and for new events.
    page.evaluate(
        "document.querySelector('#event-filter [name=class]').value = 'person'; \
                   document.querySelector('#event-filter').dispatchEvent(new Event('change'))",
    );
    page.wait("document.querySelectorAll('#event-list li').length === 4");
    assert!(
        page.evaluate("window.asked.findLast((path) => path.startsWith('v1/events?'))")
            .as_str()
            .unwrap()
            .contains("class=person")
    );
    page.wait(
        "document.querySelector('#events-status').textContent === 'New events are added as they happen.'",
    );
    page.evaluate("window.push('event', { ...window.stored[0], id: 7, class: 'car' }); window.push('event', { ...window.stored[0], id: 8 })");
    page.wait("document.querySelector('#event-list li').dataset.id === '8'");
    assert_eq!(page.evaluate("document.querySelectorAll('#event-list li').length"), json!(5));

    // The answer to an earlier filter, which comes last, is not shown.
    let filter = |class: &str| {
        format!(
            "document.querySelector('#event-filter [name=class]').value = '{class}'; \
             document.querySelector('#event-filter').dispatchEvent(new Event('change'))"
        )
    };
    page.evaluate("window.late = new Promise((done) => { window.comes = done; }); window.isLate = true");
    page.evaluate(&filter(""));
    page.wait("!window.asked.findLast((path) => path.startsWith('v1/events?')).includes('class=')");
    page.evaluate("window.isLate = false");
    page.evaluate(&filter("person"));
    page.wait("document.querySelectorAll('#event-list li').length === 4");
    page.evaluate("window.comes(); new Promise((done) => setTimeout(done, 200))");
    assert_eq!(page.evaluate("document.querySelectorAll('#event-list li').length"), json!(4));
}

#[test]
fn where_more_has_happened_than_is_read_the_list_begins_anew_and_earlier_events_follow() {
    let Some((_service, mut page)) = open("#/events", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    let ids = "[...document.querySelectorAll('#event-list li')].map((e) => Number(e.dataset.id))";
    page.wait("document.querySelectorAll('#event-list li').length === 3");
    page.wait(
        "document.querySelector('#events-status').textContent === 'New events are added as they happen.'",
    );
    page.evaluate("window.see(false)");
    page.wait("window.connection.aborted");
    // A new one comes before the list that misses most of the others.
    page.evaluate(
        "window.stored.unshift(...Array.from({ length: 197 }, (_, index) => ({ ...window.stored[0], id: 200 - index }))); \
         window.late = new Promise((done) => { window.comes = done; }); window.isLate = true; window.see(true)",
    );
    page.wait("!window.connection.aborted");
    page.evaluate("window.push('event', { ...window.stored[0], id: 201 })");
    page.wait(&format!("({ids})[0] === 201"));
    page.evaluate("window.isLate = false; window.comes()");
    page.wait(&format!("({ids}).length === 51 && ({ids}).every((id, index) => id === 201 - index)"));
    page.click("#more-events", 0.5, 0.5);
    page.wait(&format!("({ids}).length === 101 && ({ids}).every((id, index) => id === 201 - index)"));
    // The service says that it could not send all.
    page.evaluate(
        "window.stored.unshift({ ...window.stored[0], id: 202 }); window.push('lost', { lost: 1 })",
    );
    page.wait(&format!("({ids})[0] === 202"));
}

#[test]
fn a_recording_that_comes_while_its_event_is_shown_is_played() {
    let Some((_service, mut page)) = open("#/events", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    page.wait("document.querySelectorAll('#event-list li').length === 3");
    let event =
        "{ ...window.stored[0], id: 9, time: new Date().toISOString(), recording: null, snapshot: null }";
    page.evaluate(&format!("window.push('event', {event})"));
    page.wait("document.querySelector('#event-list li').dataset.id === '9'");
    page.evaluate("document.querySelector('#event-list li button').click()");
    let status = "document.querySelector('#playback-status').textContent";
    page.wait(&format!("{status} === 'There is no recording of this event yet.'"));
    page.evaluate("window.push('update', { ...window.stored[0], id: 9 })");
    page.wait("document.querySelector('#playback-video').getAttribute('src') === 'v1/streams/door/recordings/a.mp4'");
    assert_eq!(page.evaluate(status), json!(""));
    // There is no such file.
    page.wait("document.querySelector('#playback-error').textContent.includes('a.mp4')");
}

#[test]
fn descriptions_are_text_whatever_a_model_writes() {
    let Some((_service, mut page)) = open("#/events", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    page.wait("document.querySelectorAll('#event-list li').length === 3");
    page.wait(
        "document.querySelector('#events-status').textContent === 'New events are added as they happen.'",
    );
    let visible = "[...document.querySelectorAll('.event-description')].filter((e) => !e.hidden).map((e) => e.textContent)";
    assert_eq!(page.evaluate(visible), json!(["A person with a bag."]), "nobody has asked for the others");
    // The words come while the dialog shows the event, too.
    page.click("#event-list li:nth-child(1) button", 0.5, 0.5);
    page.wait("document.querySelector('#playback').open");
    assert_eq!(page.evaluate("document.querySelector('#playback-description').hidden"), json!(true));
    let hostile =
        format!("{HOSTILE}</p><script>window.hit=2</script><a href=javascript:window.hit=3>&lt;b&gt; a dog");
    page.evaluate(&format!(
        "window.push('update', {{ ...window.stored[1], description: {0} }}); \
         window.push('update', {{ ...window.stored[0], description: {0} }}); \
         window.push('update', {{ ...window.stored[2], description: null, 'description-error': {0} }})",
        json!(hostile)
    ));
    let error = format!("No description: {hostile}");
    page.wait(&format!("({visible}).length === 3 && ({visible})[2].startsWith('No description')"));
    assert_eq!(page.evaluate(visible), json!([hostile, hostile, error]));
    assert_eq!(page.evaluate("document.querySelector('#playback-description').textContent"), json!(hostile));
    assert_eq!(page.evaluate("document.querySelector('#playback-description').hidden"), json!(false));
    // One without words leaves nothing of the one before.
    page.click("#playback-close", 0.5, 0.5);
    page.wait("!document.querySelector('#playback').open");
    page.evaluate("window.push('event', { ...window.stored[0], id: 9 })");
    page.wait("document.querySelector('#event-list li').dataset.id === '9'");
    page.evaluate("document.querySelector('#event-list li button').click()");
    page.wait("document.querySelector('#playback').open");
    assert_eq!(page.evaluate("document.querySelector('#playback-description').textContent"), json!(""));
    let made = "document.querySelectorAll('main img[src=x], main script, main a[href^=javascript]').length";
    assert_eq!(page.evaluate(made), json!(0));
    assert_eq!(page.evaluate("window.hit ?? null"), Value::Null);
}

#[test]
fn a_link_leads_to_an_event_whose_recording_begins_at_its_moment() {
    let Some((_service, mut page)) = open("#/event/3", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    page.wait("document.querySelector('#playback').open");
    page.wait("document.querySelector('#playback-video').getAttribute('src') === 'v1/streams/door/recordings/a.mp4'");
    assert_eq!(
        page.evaluate("document.querySelector('#playback-title').textContent"),
        json!("person track 3 entry at gate")
    );
    // The video begins there when it is loaded.
    assert_eq!(page.evaluate("document.querySelector('#playback-video').currentTime"), json!(4.8));
    page.click("#playback-link", 0.5, 0.5);
    page.wait("document.querySelector('#playback-status').textContent !== ''");
    page.click("#playback-close", 0.5, 0.5);
    page.wait("!document.querySelector('#playback').open && location.hash === '#/events'");
    // The dialog says that there is no recording, and shows the picture if there is one.
    page.wait("document.querySelectorAll('#event-list li').length === 3");
    page.click("#event-list li:nth-child(2) button", 0.5, 0.5);
    page.wait(
        "document.querySelector('#playback-status').textContent === 'There is no recording of this event.'",
    );
    assert_eq!(page.evaluate("document.querySelector('#playback-picture').hidden"), json!(true));
    // Another event is asked for before the browser says that the dialog has been closed.
    page.evaluate("document.querySelector('#playback-close').click(); document.querySelector('#event-list li:nth-child(3) button').click()");
    page.wait("document.querySelector('#playback-picture').naturalWidth > 0 && !document.querySelector('#playback-picture').hidden");
}

#[test]
fn the_timeline_has_charts_with_the_same_numbers_as_tables() {
    let Some((_service, mut page)) = open("#/timeline", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    page.wait("document.querySelectorAll('#charts figure').length === 7");
    let titles = json!([
        "Counts by zone and class",
        "Frames per second",
        "Lag",
        "Dropped frames",
        "Processor",
        "GPU",
        "Memory"
    ]);
    assert_eq!(texts(&mut page, "#charts h3"), titles);
    let label = "document.querySelector('#charts svg').getAttribute('aria-label')";
    let expected = format!(
        "Counts by zone and class. door {HOSTILE} person entry: 7 in all. The table has the numbers."
    );
    assert_eq!(page.evaluate(label), json!(expected));
    // 4500 frames in 300 s are 15 a second; the last step is half over.
    page.click("#charts figure:nth-child(2) summary", 0.05, 0.5);
    page.wait("document.querySelectorAll('#charts td').length === 3");
    assert_eq!(texts(&mut page, "#charts td"), json!(["10", "15", "30"]));
    // What is not known is no line: nothing is drawn for the GPU, and the line of the lag has a gap.
    assert_eq!(
        texts(&mut page, "#charts figure:nth-child(6) p"),
        json!(["Nothing has been counted in this time."])
    );
    let path = |values: &str| format!("import('/page/chart.js').then((chart) => chart.pathOf({values}, 2))");
    assert_eq!(page.evaluate(&path("[0, null, 2]")), json!("M-3.0 200.0h6M997.0 0.0h6"));
    assert_eq!(page.evaluate(&path("[0, 1, null]")), json!("M0.0 200.0L500.0 100.0"));
    let ends = "import('/page/chart.js').then((chart) => [0, 0.3, 1, 1.1, 7, 4500].map(chart.niceEnd))";
    assert_eq!(page.evaluate(ends), json!([1, 0.5, 1, 2, 10, 5000]));
    assert_eq!(page.evaluate("window.hit ?? null"), Value::Null);
}

#[test]
fn the_best_pictures_of_tracks_are_read_when_they_are_opened() {
    let Some((_service, mut page)) = open("#/camera/door", "") else {
        return eprintln!("skipped: there is no chromium");
    };
    page.wait("document.querySelectorAll('#zones li').length === 1");
    assert_eq!(page.evaluate("window.asked.filter((path) => path.includes('snapshots')).length"), json!(0));
    page.click("#snapshots summary", 0.1, 0.5);
    page.wait("document.querySelector('#snapshot-list img')?.naturalWidth > 0");
    let caption = page.evaluate("document.querySelector('#snapshot-list figcaption').textContent");
    assert!(caption.as_str().unwrap().starts_with(&format!("{HOSTILE}, track 1, ")), "{caption}");
    assert_eq!(page.evaluate("window.hit ?? null"), Value::Null);
}

#[test]
fn without_a_history_the_views_show_what_to_set() {
    let Some((_service, mut page)) = open("#/events", "window.refuse = true;") else {
        return eprintln!("skipped: there is no chromium");
    };
    let sentence = "There is no history: set state in [server].";
    page.wait(&format!("document.querySelector('#events-error').textContent === '{sentence}'"));
    assert_eq!(page.evaluate("document.querySelectorAll('#event-list li').length"), json!(0));
    page.evaluate("new Promise((done) => setTimeout(done, 1500))");
    assert_eq!(
        page.evaluate("window.asked.filter((path) => path.startsWith('v1/events')).length"),
        json!(2),
        "what is refused is not asked for again"
    );
    assert_eq!(
        page.evaluate("document.querySelector('#events-status').textContent"),
        json!(""),
        "it is said once"
    );
    page.evaluate("location.hash = '#/timeline'");
    page.wait(&format!("document.querySelector('#timeline-error').textContent === '{sentence}'"));
}

#[test]
fn server_sent_events_are_read_however_they_are_cut() {
    let Some((_service, mut page)) = open("", "") else { return eprintln!("skipped: there is no chromium") };
    let text = "id: 1\r\ndata: a\r\ndata: b\r\n\r\n:comment\nevent: x\ndata:c\n\nid: 3\n\ndata: last";
    for size in [1, 2, 3, 7, 1000] {
        let expression = format!(
            "import('/page/sse.js').then(({{ Parser }}) => {{ const all = []; const parser = new Parser((e) => all.push(e)); \
             const text = {text:?}; for (let i = 0; i < text.length; i += {size}) parser.push(text.slice(i, i + {size})); return all; }})"
        );
        let expected = json!([{"event": "message", "id": "1", "data": "a\nb"}, {"event": "x", "data": "c"}]);
        assert_eq!(page.evaluate(&expression), expected, "pieces of {size}");
    }
}

#[test]
fn the_configuration_is_downloaded_and_a_pipeline_gets_another_model() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let service = Service::start(&crate::service::configuration_of("setup", ""));
    service.plays("door");
    let script = "HTMLAnchorElement.prototype.click = function () { window.saved = this.download; }; \
                  const create = URL.createObjectURL; \
                  URL.createObjectURL = (blob) => { window.written = blob; return create.call(URL, blob); };";
    let mut page = Page::open_with(chromium, &format!("{}/#/setup", service.url), script);
    page.wait("document.querySelectorAll('#pipelines tr').length === 2");
    page.click("#download", 0.5, 0.5);
    page.wait("window.saved === 'cudainfer-serve.toml'");
    let text = page.evaluate("window.written.text()");
    assert!(text.as_str().unwrap().contains("[[source]]"), "{text}");
    // A model that is not there is refused with the service's sentence.
    page.evaluate("document.querySelector('#pipelines input').value = '/nowhere.onnx'");
    page.click("#pipelines button", 0.5, 0.5);
    page.wait("document.querySelector('#pipelines .answer').textContent.includes('/nowhere.onnx')");
    // The form shows the line of the pipeline, and asks for a model only where there is one.
    page.wait("document.querySelector('#add-line').textContent === 'identity'");
    assert_eq!(page.evaluate("document.querySelector('#add-model').hidden"), json!(true));
    page.evaluate("const select = document.querySelector('#add select'); select.value = 'setup'; select.dispatchEvent(new Event('change'))");
    assert_eq!(page.evaluate("document.querySelector('#add-model').hidden"), json!(false));
}
