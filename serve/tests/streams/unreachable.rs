//! Sources that cannot be played: each error has the address, without the login, and the reason. A decoder that cannot read its model's
//! outputs is no matter of the source.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use cudainfer_serve::fleet::Fleet;
use cudainfer_serve::stream::supervisor::State;
use cudainfer_serve::stream::{Reason, StreamStatus};
use cudainfer_tests::{free_port, model, scratch, until};

use crate::fleet::{ends_undisturbed, fleet, of};

/// What a server answers to each request.
#[derive(Clone, Copy)]
enum Answer {
    Status(u16),
    Garbage,
    /// A page, which is no video.
    Page,
    /// The connection is open, and nothing comes.
    Nothing,
    /// The connection is closed.
    Close,
}

/// A server on the loopback, and its port.
fn server(answer: Answer) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve(client, answer));
        }
    });
    port
}

fn serve(mut client: TcpStream, answer: Answer) -> std::io::Result<()> {
    let mut request = [0; 4096];
    loop {
        let size = client.read(&mut request)?;
        let text = String::from_utf8_lossy(&request[..size]);
        let (protocol, sequence) = match text.lines().find(|line| line.starts_with("CSeq")) {
            Some(line) => ("RTSP/1.0", format!("{line}\r\n")),
            None => ("HTTP/1.1", String::new()),
        };
        match answer {
            _ if size == 0 => return Ok(()),
            Answer::Nothing => (),
            Answer::Close => return Ok(()),
            Answer::Garbage => {
                client.write_all(&b"220 mail.example ESMTP\r\n\r\n".repeat(8))?;
                return Ok(());
            }
            Answer::Status(code) => write!(
                client,
                "{protocol} {code} No\r\n{sequence}WWW-Authenticate: Basic realm=\"camera\"\r\nContent-Length: 0\r\n\r\n"
            )?,
            Answer::Page => {
                let page = "<html><body>This is the camera's page.</body></html>";
                let size = page.len();
                write!(
                    client,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {size}\r\n\r\n{page}"
                )?;
            }
        }
    }
}

/// The status of a source after its first failure.
fn failed(fleet: &Fleet, name: &str) -> StreamStatus {
    until(&format!("{name} has an error"), || {
        let status = of(fleet, name);
        status.last_error.is_some() && !status.restarts.is_empty()
    });
    of(fleet, name)
}

#[test]
fn the_error_of_a_source_has_its_address_and_the_reason() {
    let refusing = free_port();
    let mut cases = vec![
        ("rtsp", refusing, "connection refused"),
        ("http", refusing, "connection refused"),
        ("rtsp", server(Answer::Garbage), "is no RTSP server"),
        ("http", server(Answer::Page), "no video is there"),
        ("rtsp", server(Answer::Nothing), "timeout: no frame has come for 10 s"),
        ("http", server(Answer::Nothing), "timeout: no frame has come for 10 s"),
        ("rtsp", server(Answer::Close), "closed the connection"),
        ("http", server(Answer::Close), "broken the connection"),
    ];
    for (code, reason) in
        [(401, "unauthorised (401)"), (403, "forbidden (403)"), (404, "not found (404)"), (503, "status 503")]
    {
        cases.extend(["rtsp", "http"].map(|scheme| (scheme, server(Answer::Status(code)), reason)));
    }
    let source = |(number, (scheme, port, _)): (usize, &(&str, u16, &str))| {
        format!(
            "[[source]]\nname = \"s{number}\"\npipeline = \"plain\"\n\
             uri = \"{scheme}://operator:S3cretWord@127.0.0.1:{port}/door?key=An0therWord\"\n"
        )
    };
    let fleet = fleet(&cases.iter().enumerate().map(source).collect::<String>());
    for (number, (scheme, port, reason)) in cases.iter().enumerate() {
        let status = failed(&fleet, &format!("s{number}"));
        let error = status.last_error.clone().unwrap();
        let address = format!("'{scheme}://127.0.0.1:{port}/door?…': ");
        assert!(error.starts_with(&address) && error.contains(reason), "{scheme} {reason}: {error}");
        for secret in ["operator", "S3cretWord", "An0therWord"] {
            assert!(!error.contains(secret), "{error}");
        }
        assert_ne!(status.state, State::Failed, "a camera may come back: {error}");
    }
    ends_undisturbed(&fleet);
}

#[test]
fn a_host_without_an_address_is_called_unknown() {
    let source = |scheme: &str| {
        format!(
            "[[source]]\nname = \"{scheme}\"\nuri = \"{scheme}://camera.invalid/door\"\npipeline = \"plain\"\n"
        )
    };
    let fleet = fleet(&(source("rtsp") + &source("http")));
    for scheme in ["rtsp", "http"] {
        let status = failed(&fleet, scheme);
        let error = status.last_error.unwrap();
        // A machine without a name server waits for it longer than the service waits for the reason.
        let reasons = ["unknown host", "timeout"];
        let expected = reasons.map(|reason| format!("'{scheme}://camera.invalid/door': {reason}"));
        assert!(expected.iter().any(|begin| error.starts_with(begin)), "{error}");
    }
    ends_undisturbed(&fleet);
}

#[test]
fn a_file_that_is_no_video_is_named() {
    let file = scratch("text").join("notes.mp4");
    std::fs::write(&file, "These are notes, and no video.\n".repeat(100)).unwrap();
    let uri = format!("file://{}", file.display());
    let fleet = fleet(&format!("[[source]]\nname = \"notes\"\nuri = \"{uri}\"\npipeline = \"plain\"\n"));
    let error = failed(&fleet, "notes").last_error.unwrap();
    assert!(error.starts_with(&format!("'{uri}': no video is there")), "{error}");
    ends_undisturbed(&fleet);
}

#[test]
fn a_decoder_that_cannot_read_the_models_outputs_fails_its_stream() {
    let fleet = fleet(&format!(
        "[pipeline.wrong]\nline = \"fusedpreproc ! trtinfer model={} ! gpunms decoder=scrfd\"\n\
         [[source]]\nname = \"wrong\"\nuri = \"test://ball?width=64&height=48\"\npipeline = \"wrong\"\n",
        model("detector")
    ));
    until("it has failed", || of(&fleet, "wrong").state == State::Failed);
    let status = of(&fleet, "wrong");
    let error = status.last_error.clone().unwrap();
    assert!(error.starts_with("gpunms"), "the decoder's own sentence: {error}");
    assert!(!status.restarts.contains_key(&Reason::Error), "it is not tried again: {status:?}");
    ends_undisturbed(&fleet);
}
