//! Ending, reloading, and reports to systemd.

use std::os::unix::net::UnixDatagram;

use cudainfer_tests::{scratch, until};
use rustix::process::Signal;

use crate::service::{Service, command};

const HEAD: &str = "[server]\nlisten = \"127.0.0.1:0\"\n";

fn source(name: &str) -> String {
    format!("[[source]]\nname = \"{name}\"\nuri = \"test://ball?width=64&height=48\"\npipeline = \"plain\"\n")
}

/// A pipeline that writes a record of each frame, and closes its file at EOS.
fn plain(folder: &std::path::Path) -> String {
    format!("[pipeline.plain]\nline = \"inferpublish location={}/{{name}}.jsonl\"\n", folder.display())
}

#[test]
fn sigterm_and_sigint_end_the_streams_and_the_service() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = scratch("out");
        let mut service = Service::start(&(HEAD.to_owned() + &plain(&folder) + &source("a") + &source("b")));
        service.logs(": playing", 2);
        service.signal(signal);
        assert_eq!(service.ends().code(), Some(0));
        service.logs("all streams have ended", 1);
        let text = std::fs::read_to_string(folder.join("a.jsonl")).unwrap();
        assert!(text.lines().count() > 0 && text.ends_with('\n'), "{text}");
    }
}

#[test]
fn sighup_touches_only_what_differs() {
    let folder = scratch("out");
    let begin = HEAD.to_owned() + &plain(&folder);
    let mut service =
        Service::start(&(begin.clone() + &source("stays") + &source("goes") + &source("changes")));
    service.logs(": playing", 3);
    let changed = source("changes").replace("ball", "snow");
    std::fs::write(&service.file, begin.clone() + &source("stays") + &changed + &source("comes")).unwrap();
    service.signal(Signal::HUP);
    service.logs("1 streams added, 1 changed, 1 removed, 1 as before", 1);
    service.logs("'comes': playing", 1);
    service.logs("'changes': playing", 2);
    service.logs("'goes': stopping", 1);
    assert_eq!((service.count("'stays': playing"), service.count("stream 'stays': ")), (1, 1));
    // A wrong configuration changes nothing.
    std::fs::write(&service.file, begin + &source("stays").replace("plain", "plane")).unwrap();
    service.signal(Signal::HUP);
    service.logs("'plain' is probably meant. The configuration stays as it is", 1);
    assert_eq!(service.count("stream 'stays': "), 1);
    service.signal(Signal::TERM);
    assert_eq!(service.ends().code(), Some(0));
}

#[test]
fn the_start_the_reload_the_end_and_that_it_is_alive_are_reported_to_systemd() {
    let folder = scratch("notify");
    let socket = UnixDatagram::bind(folder.join("socket")).unwrap();
    socket.set_read_timeout(Some(cudainfer_tests::LIMIT)).unwrap();
    let reported = |part: &str| {
        until(part, || {
            let mut bytes = [0; 4096];
            let count = socket.recv(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes[..count]).contains(part)
        });
    };
    let file = folder.join("serve.toml");
    std::fs::write(&file, HEAD.to_owned() + &plain(&folder) + &source("a")).unwrap();
    let mut command = command();
    command.env("NOTIFY_SOCKET", folder.join("socket")).env("WATCHDOG_USEC", "300000");
    let mut service = Service::start_with(&mut command, &file);
    reported("READY=1");
    reported("WATCHDOG=1");
    reported("WATCHDOG=1");
    service.signal(Signal::HUP);
    reported("RELOADING=1");
    reported("READY=1");
    service.signal(Signal::TERM);
    reported("STOPPING=1");
    assert_eq!(service.ends().code(), Some(0));
}
