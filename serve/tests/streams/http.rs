//! Video by HTTP from a server that goes away and comes back.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cudainfer_serve::fleet::Fleet;
use cudainfer_serve::stream::Reason;
use cudainfer_serve::stream::supervisor::State;
use cudainfer_tests::{TestPipeline, run, scratch, until};
use gst::prelude::*;

use crate::fleet::{ends_undisturbed, fleet, frames_come, of};

/// What a server serves.
enum Content {
    /// A folder of files.
    Files(PathBuf),
    /// A camera's video: the same bytes again and again, at about the video's rate, for each request.
    Endless(Vec<u8>),
    /// A camera's JPEG pictures, one after the other, as many cameras and microcontrollers send them.
    Pictures(Vec<Vec<u8>>),
}

/// A small server on the loopback, with as much of HTTP/1.1 as the tests need.
struct Server {
    port: u16,
    works: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn start(content: Content) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (works, content) = (Arc::new(AtomicBool::new(true)), Arc::new(content));
        let connections = Arc::<Mutex<Vec<TcpStream>>>::default();
        let (on, open) = (Arc::clone(&works), Arc::clone(&connections));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // If the server is cut off, the connection is dropped: the client sees its end.
                if on.load(Ordering::Relaxed) {
                    open.lock().unwrap().push(client.try_clone().unwrap());
                    let content = Arc::clone(&content);
                    std::thread::spawn(move || answer(&client, &content));
                }
            }
        });
        Self { port, works, connections }
    }

    fn uri(&self, file: &str) -> String {
        format!("http://127.0.0.1:{}/{file}", self.port)
    }

    /// Ends all connections, and accepts no others.
    fn cut(&self) {
        self.works.store(false, Ordering::Relaxed);
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn come_back(&self) {
        self.works.store(true, Ordering::Relaxed);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Answers the requests of a connection until it ends.
fn answer(client: &TcpStream, content: &Content) -> Option<()> {
    let mut lines = BufReader::new(client).lines().map_while(Result::ok);
    let mut out = client;
    loop {
        let request = lines.next()?;
        let path = request.split(' ').nth(1)?.trim_start_matches('/').to_owned();
        lines.by_ref().find(String::is_empty)?;
        match content {
            Content::Files(folder) => match std::fs::read(folder.join(path)) {
                Ok(bytes) => {
                    write!(out, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len()).ok()?;
                    out.write_all(&bytes).ok()?;
                }
                Err(_) => write!(out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok()?,
            },
            Content::Endless(bytes) => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nConnection: close\r\n\r\n")
                    .ok()?;
                for part in bytes.chunks(bytes.len() / 40).cycle() {
                    out.write_all(part).ok()?;
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
            }
            Content::Pictures(pictures) => {
                let kind = "multipart/x-mixed-replace; boundary=picture";
                write!(out, "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n").ok()?;
                for picture in pictures.iter().cycle() {
                    let size = picture.len();
                    write!(out, "--picture\r\nContent-Type: image/jpeg\r\nContent-Length: {size}\r\n\r\n")
                        .ok()?;
                    out.write_all(picture).ok()?;
                    write!(out, "\r\n").ok()?;
                    std::thread::sleep(std::time::Duration::from_millis(50));
                }
            }
        }
    }
}

/// The fleet with a stream from the server.
#[track_caller]
fn playing(server: &Server, file: &str) -> Fleet {
    let text = format!("[[source]]\nname = \"net\"\nuri = \"{}\"\npipeline = \"plain\"\n", server.uri(file));
    let fleet = fleet(&text);
    frames_come(&fleet, "net", 10);
    fleet
}

/// Asserts that streams of a server report why they wait while it is away, and go on when it is back.
#[track_caller]
fn is_cut_and_comes_back(server: &Server, file: &str) {
    let fleet = playing(server, file);
    for turn in 1..=2 {
        let before: u64 = of(&fleet, "net").restarts.values().sum();
        server.cut();
        until("it is tried again", || of(&fleet, "net").restarts.values().sum::<u64>() > before + 1);
        let status = of(&fleet, "net");
        let reasons: Vec<_> = status.restarts.keys().collect();
        assert!(
            reasons.iter().all(|reason| [Reason::Connection, Reason::End, Reason::Stall].contains(reason)),
            "{status:?}"
        );
        assert!(status.restarts.contains_key(&Reason::Connection), "it could not be reached: {status:?}");
        assert!(status.last_error.is_some_and(|error| !error.is_empty()));
        server.come_back();
        frames_come(&fleet, "net", 10);
        until(&format!("it plays, turn {turn}"), || of(&fleet, "net").state == State::Playing);
        let status = of(&fleet, "net");
        assert!(status.last_error.is_none() && status.previous_error.is_some(), "{status:?}");
    }
    ends_undisturbed(&fleet);
}

#[test]
fn hls_that_is_cut_comes_back() {
    let folder = scratch("hls");
    let live = TestPipeline::start(&format!(
        "videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast tune=zerolatency key-int-max=10 threads=1 \
         ! hlssink2 target-duration=1 playlist-length=4 max-files=8 location={0}/%05d.ts playlist-location={0}/live.m3u8",
        folder.display()
    ));
    until("the playlist has segments", || {
        std::fs::read_to_string(folder.join("live.m3u8")).is_ok_and(|text| text.matches(".ts").count() >= 3)
    });
    let server = Server::start(Content::Files(folder.clone()));
    if gst::version() < (1, 24, 0, 0) {
        eprintln!("not cut: hlsdemux2 of {} crashes when connections break", gst::version_string());
        ends_undisturbed(&playing(&server, "live.m3u8"));
    } else {
        is_cut_and_comes_back(&server, "live.m3u8");
    }
    live.stop();
}

#[test]
fn a_camera_by_http_that_is_cut_comes_back() {
    let file = scratch("http").join("video.ts");
    transport_stream(&file);
    is_cut_and_comes_back(&Server::start(Content::Endless(std::fs::read(file).unwrap())), "camera.ts");
}

fn pictures() -> Content {
    let folder = scratch("pictures");
    run(&format!(
        "videotestsrc num-buffers=20 pattern=ball ! video/x-raw,format=I420,width=64,height=48 ! jpegenc \
         ! multifilesink location={}/%02d.jpg",
        folder.display()
    ))
    .succeeds();
    Content::Pictures((0..20).map(|n| std::fs::read(folder.join(format!("{n:02}.jpg"))).unwrap()).collect())
}

#[test]
fn a_camera_of_pictures_that_is_cut_comes_back() {
    is_cut_and_comes_back(&Server::start(pictures()), "video.mjpg");
}

/// multipart/x-mixed-replace has no times, so the frames get those of their arrival.
#[test]
fn pictures_have_the_times_at_which_they_came() {
    let server = Server::start(pictures());
    let fleet = playing(&server, "video.mjpg");
    let pad = fleet.built("net").unwrap().sink.static_pad("sink").unwrap();
    let times = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&times);
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(gst::PadProbeData::Buffer(frame)) = &info.data {
            seen.lock().unwrap().push(frame.pts());
        }
        gst::PadProbeReturn::Ok
    });
    frames_come(&fleet, "net", 10);
    let times: Vec<_> = times.lock().unwrap().iter().map(|time| time.unwrap()).collect();
    assert!(times.len() > 5 && times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    ends_undisturbed(&fleet);
}

/// Two seconds of MPEG-TS.
fn transport_stream(file: &Path) {
    run(&format!(
        "videotestsrc num-buffers=40 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast key-int-max=10 threads=1 ! mpegtsmux ! filesink location={}",
        file.display()
    ))
    .succeeds();
}

#[test]
fn a_file_by_http_has_an_end() {
    let folder = scratch("file");
    transport_stream(&folder.join("video.ts"));
    let server = Server::start(Content::Files(folder));
    let text =
        format!("[[source]]\nname = \"net\"\nuri = \"{}\"\npipeline = \"plain\"\n", server.uri("video.ts"));
    let fleet = fleet(&text);
    let status = crate::fleet::ends(&fleet, "net");
    assert!(status.restarts.is_empty(), "{status:?}");
    assert_eq!(status.frames, 40);
    ends_undisturbed(&fleet);
}
