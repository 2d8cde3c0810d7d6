//! Looking for cameras, and asking one for its videos: cameras that behave, and devices that do not.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::browser::{Page, installed};
use crate::fake_camera::{FakeCamera, PASSWORD, USER, envelope, http, probe_match};
use crate::service::{Answer, Service, configuration, send};

fn found(service: &Service) -> Value {
    let answer = crate::service::ask("POST", &format!("{}/v1/discover", service.url), &[], None);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn profiles(service: &Service, xaddr: &str, password: &str) -> Answer {
    let body = json!({"xaddr": xaddr, "user": USER, "password": password});
    send("POST", &format!("{}/v1/discover/profiles", service.url), &body)
}

#[test]
fn a_camera_is_listed_once_and_gives_its_videos_to_whoever_has_the_password() {
    let camera = FakeCamera::good("127.0.0.1", "urn:uuid:1", "Gate");
    let service = Service::start(&configuration(&FakeCamera::key(&[&camera])));
    let xaddr = format!("http://{}/onvif/device_service", camera.asked);
    // Nobody is asked who has not answered.
    let early = profiles(&service, &xaddr, PASSWORD);
    assert_eq!((early.status, camera.requests.lock().unwrap().len()), (404, 0), "{early:?}");

    let listed = found(&service);
    let expected = json!([{"id": "urn:uuid:1", "name": "Gate", "hardware": "X1", "location": "city/Lund", "address": "127.0.0.1", "xaddr": xaddr}]);
    assert_eq!((&listed["cameras"], &listed["unusable"]), (&expected, &json!([])));
    assert_eq!((&listed["asked"], &listed["more"]), (&json!([camera.probed.to_string()]), &json!(false)));

    let videos = profiles(&service, &xaddr, PASSWORD);
    assert_eq!(videos.status, 200, "{videos:?}");
    let video = |name: &str, width: u32, height: u32, path: &str| {
        json!({
            "name": name, "encoding": "H264", "width": width, "height": height, "rate": 25,
            // The camera names another host, with a login.
            "uri": format!("rtsp://127.0.0.1:8554/{path}?a=1&b=2"),
        })
    };
    let markup = "<img src=x onerror=\"window.hit=1\">";
    let expected = json!({"profiles": [video("main", 1920, 1080, "main"), video(markup, 640, 360, "sub")]});
    assert_eq!(videos.json(), expected);
    let requests = camera.requests.lock().unwrap().clone();
    assert!(
        requests.len() == 6 && requests.iter().all(|request| !request.contains(PASSWORD)),
        "{requests:#?}"
    );
    assert!(!requests[0].contains("Security"), "the clock is read without a login");

    let wrong = profiles(&service, &xaddr, "wrong-password");
    assert_eq!(wrong.status, 409);
    assert!(wrong.error().contains("'Sender not <b> authorized'"), "{}", wrong.error());
    assert!(!wrong.error().contains("wrong-password"), "{}", wrong.error());
    for other in ["http://127.0.0.1:1/", &format!("{xaddr}/"), "file:///etc/passwd", ""] {
        assert_eq!(profiles(&service, other, PASSWORD).status, 404, "{other}");
    }
}

#[test]
fn a_clock_that_is_not_given_is_taken_to_be_right_and_a_camera_without_a_login_is_asked_without() {
    let answers = Arc::new(|request: &str| {
        if request.contains("GetSystemDateAndTime") {
            return Some(http(401, "<html>"));
        }
        Some(if request.contains("Security") { http(401, "") } else { soap_without_login(request) })
    });
    let datagram = probe_match("urn:uuid:2", "http://{http}/device", "Open");
    let camera = FakeCamera::start("127.0.0.1", vec![datagram], answers);
    let service = Service::start(&configuration(&FakeCamera::key(&[&camera])));
    let xaddr = found(&service)["cameras"][0]["xaddr"].as_str().unwrap().to_owned();
    let body = json!({"xaddr": xaddr});
    let videos = send("POST", &format!("{}/v1/discover/profiles", service.url), &body);
    assert_eq!(videos.json()["profiles"][0]["uri"], "rtsp://127.0.0.1/1", "{videos:?}");
    // One that wants HTTP authentication instead says that with a status only.
    let refused = profiles(&service, &xaddr, PASSWORD);
    assert!(refused.status == 409 && refused.error().contains("HTTP status 401"), "{refused:?}");
}

fn soap_without_login(request: &str) -> Vec<u8> {
    let body = if request.contains("<GetCapabilities") {
        "<GetCapabilitiesResponse><Capabilities><Media><XAddr>/media</XAddr></Media></Capabilities></GetCapabilitiesResponse>"
    } else if request.contains("<GetProfiles") {
        "<GetProfilesResponse><Profiles token='1'/></GetProfilesResponse>"
    } else {
        "<GetStreamUriResponse><MediaUri><Uri>rtsp://camera/1</Uri></MediaUri></GetStreamUriResponse>"
    };
    http(200, &envelope(body))
}

#[test]
fn garbage_and_addresses_of_others_hide_no_camera_and_lead_nowhere() {
    let good = FakeCamera::good("127.0.0.1", "urn:uuid:1", "Gate");
    let none: crate::fake_camera::Answers = Arc::new(|_| None);
    let laughs = b"<!DOCTYPE x [<!ENTITY a 'ha'>]><x>&a;</x>".to_vec();
    let garbage =
        FakeCamera::start("127.0.0.2", vec![vec![0xff; 300], vec![b'<'; 6000], laughs], Arc::clone(&none));
    let large = FakeCamera::start("127.0.0.3", vec![vec![b' '; 20_000]], Arc::clone(&none));
    // It answers for the good camera, and for this service itself.
    let other = probe_match(
        "urn:uuid:9",
        &format!("http://{}/onvif/device_service http://localhost/", good.asked),
        "liar",
    );
    let liar = FakeCamera::start("127.0.0.4", vec![other], Arc::clone(&none));
    let key = FakeCamera::key(&[&good, &garbage, &large, &liar]);
    let service = Service::start(&configuration(&key));
    let listed = found(&service);
    let cameras = listed["cameras"].as_array().unwrap();
    assert!(matches!(&cameras[..], [one] if one["address"] == "127.0.0.1"), "{listed:#}");
    let why = |address: &str| {
        let unusable = listed["unusable"].as_array().unwrap().iter();
        unusable
            .filter(|each| each["address"] == address)
            .map(|each| each["why"].as_str().unwrap())
            .collect::<Vec<_>>()
    };
    assert!(matches!(why("127.0.0.2")[..], [one] if one.contains("UTF-8")), "{listed:#}");
    assert!(matches!(why("127.0.0.3")[..], [one] if one.contains("16 KiB")), "{listed:#}");
    assert!(
        matches!(why("127.0.0.4")[..], [one] if one.contains("127.0.0.4, where its answer came from")),
        "{listed:#}"
    );
}

// Its datagrams fill the socket's buffer, where those of others may be lost: so it is alone here.
#[test]
fn of_a_flood_some_are_listed_and_it_is_said_that_there_are_more() {
    let flood = (0..3000)
        .map(|number| probe_match(&format!("urn:uuid:f{number}"), "http://{http}/", "flood"))
        .collect();
    let flood = FakeCamera::start("127.0.0.5", flood, Arc::new(|_| None));
    let service = Service::start(&configuration(&FakeCamera::key(&[&flood])));
    let listed = found(&service);
    assert!((1..=64).contains(&listed["cameras"].as_array().unwrap().len()), "{listed:#}");
    assert_eq!(listed["more"], true, "{listed:#}");
}

#[test]
fn devices_that_hang_lie_or_send_too_much_are_left_with_a_sentence() {
    let elsewhere = FakeCamera::good("127.0.0.1", "urn:uuid:0", "elsewhere");
    let target = elsewhere.asked;
    let cases: [(&str, &str, crate::fake_camera::Answers); 8] = [
        ("hangs", "within 5 s", Arc::new(|_| None)),
        (
            "short",
            "breaks off",
            Arc::new(|_| Some(b"HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\n<a>HTTP/1.1 ".to_vec())),
        ),
        ("long", "more than 1024 KiB", Arc::new(|_| Some(http(200, &" ".repeat(10_000_000))))),
        (
            "claims",
            "within 5 s",
            Arc::new(|_| Some(b"HTTP/1.1 200 x\r\ncontent-length: 99999999999\r\n\r\n<a>".to_vec())),
        ),
        (
            "laughs",
            "document type",
            Arc::new(|_| Some(http(200, "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"))),
        ),
        ("deep", "inside each other", Arc::new(|_| Some(http(200, &"<a>".repeat(200_000))))),
        ("noise", "does not answer", Arc::new(|_| Some(vec![0xff; 1000]))),
        (
            "redirects",
            "HTTP status 302",
            Arc::new(move |_| {
                Some(
                    format!("HTTP/1.1 302 x\r\nlocation: http://{target}/\r\ncontent-length: 0\r\n\r\n")
                        .into_bytes(),
                )
            }),
        ),
    ];
    let start = |(name, _, answers): &(&str, &str, crate::fake_camera::Answers)| {
        let datagram = probe_match(&format!("urn:uuid:{name}"), &format!("http://{{http}}/{name}"), name);
        FakeCamera::start("127.0.0.1", vec![datagram], Arc::clone(answers))
    };
    let cameras: Vec<FakeCamera> = cases.iter().map(start).collect();
    let all: Vec<&FakeCamera> = cameras.iter().collect();
    let service = Service::start(&configuration(&FakeCamera::key(&all)));
    let listed = found(&service);
    assert_eq!(listed["cameras"].as_array().unwrap().len(), cases.len(), "{listed:#}");
    for ((name, part, _), camera) in cases.iter().zip(&cameras) {
        let refused = profiles(&service, &format!("http://{}/{name}", camera.asked), PASSWORD);
        assert_eq!(refused.status, 409, "{name}: {refused:?}");
        assert!(refused.error().contains(part), "{name}: {}", refused.error());
        assert!(refused.error().len() < 600, "{name}: {}", refused.error());
    }
    assert_eq!(elsewhere.requests.lock().unwrap().len(), 0, "no redirect is followed");
}

#[test]
fn the_operator_may_forbid_it() {
    let service = Service::start(&configuration("discovery = []"));
    let answer = crate::service::ask("POST", &format!("{}/v1/discover", service.url), &[], None);
    assert!(answer.status == 409 && answer.error().contains("discovery in [server]"), "{answer:?}");
}

#[test]
fn in_the_page_a_camera_is_found_chosen_and_added_by_keyboard_and_no_name_is_markup() {
    let Some(chromium) = installed() else { return eprintln!("skipped: there is no chromium") };
    let markup = "<img src=x onerror=\"window.hit=1\">";
    let camera = FakeCamera::good("127.0.0.1", "urn:uuid:1", markup);
    let service = Service::start(&configuration(&FakeCamera::key(&[&camera])));
    let mut page = Page::open(chromium, &format!("{}/#/setup", service.url));
    page.wait("document.querySelectorAll('#pipelines tr').length === 2");
    page.evaluate("document.querySelector('#find').focus()");
    page.key("Enter");
    page.wait("document.querySelectorAll('#found li').length === 1");
    let status = "document.querySelector('#find-status').textContent";
    assert_eq!(page.evaluate(status), json!(format!("1 camera has answered on {}.", camera.probed)));
    let name = format!("{markup}, X1");
    assert_eq!(page.evaluate("document.querySelector('#found strong').textContent"), json!(name));
    page.evaluate("document.querySelector('#found button').focus()");
    page.key("Enter");
    // The field for the user has the focus.
    page.wait("document.activeElement === document.querySelector('#camera-login [name=user]')");
    page.write(USER);
    page.evaluate("document.querySelector('#camera-login [name=password]').focus()");
    page.write("wrong");
    page.key("Enter");
    page.wait(
        "document.querySelector('#camera-login .error').textContent.includes('Sender not <b> authorized')",
    );
    page.evaluate("document.querySelector('#camera-login [name=password]').select()");
    page.write(PASSWORD);
    page.key("Enter");
    page.wait("document.querySelectorAll('#profiles li').length === 2");
    assert_eq!(page.evaluate("document.querySelectorAll('#profiles strong')[1].textContent"), json!(markup));
    assert!(
        page.evaluate("document.querySelector('#profiles span').textContent")
            .as_str()
            .unwrap()
            .contains("main 1920 × 1080, H264, 25 frames/s")
    );
    crate::accessibility::finds_nothing(&mut page, "the cameras that were found");
    assert_eq!(page.evaluate("window.hit ?? null"), Value::Null);
    assert_eq!(page.evaluate("document.querySelectorAll('main img[src=x]').length"), json!(0));
    page.evaluate("document.querySelector('#profiles button').focus()");
    page.key("Enter");
    page.wait("document.activeElement === document.querySelector('#add [name=name]')");
    let field = |page: &mut Page, name: &str| {
        page.evaluate(&format!("document.querySelector('#add [name={name}]').value"))
    };
    assert_eq!(field(&mut page, "uri"), json!("rtsp://127.0.0.1:8554/main?a=1&b=2"));
    assert_eq!((field(&mut page, "user"), field(&mut page, "password")), (json!(USER), json!(PASSWORD)));
    assert_eq!(page.evaluate("document.querySelector('#camera-login').hidden"), json!(true));
    page.write("yard");
    page.evaluate("document.querySelector('#add [name=pipeline]').value = 'plain'");
    page.key("Enter");
    page.wait("location.hash === '#/camera/yard'");
    let source = service.fleet.source("yard").unwrap();
    assert_eq!(source.uri.whole(), "rtsp://127.0.0.1:8554/main?a=1&b=2");
    let [user, password] = ["user-id", "user-pw"].map(|key| source.properties[key].to_string());
    assert_eq!((&*user, &*password), (USER, PASSWORD));
    // Nobody gets the password back.
    let shown =
        String::from_utf8(crate::service::get(&format!("{}/v1/streams/yard", service.url)).body).unwrap();
    assert!(!shown.contains(PASSWORD) && shown.contains("\"yard\""), "{shown}");
    assert_eq!(field(&mut page, "password"), json!(""));
}
