//! Answers by HTTP while pipelines run: `/metrics`, `/healthz` and `/status`.

mod health;
mod status;

use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_user_timeout};
use tiny_http::{Header, Method, Request, Response, Server};

use super::log::CAT;
use super::metrics;
use super::observe::Observer;

/// How long an answer may take to be read: whoever asks next waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// After a failure to accept connections, as where the process has no file descriptor left, it is tried again so much later.
const RETRY: Duration = Duration::from_secs(1);

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

const INDEX: &str = "cudainfer\n/metrics  for Prometheus\n/healthz  200 while frames move, else 503\n/status   the statistics of every element\n";

/// Listens at `address`, in threads of its own, until the process ends. Returns where that is.
///
/// # Errors
/// The address is none, or another process has it, or there is no thread.
pub(super) fn start(address: &str, stall: Duration, observer: Arc<Observer>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    // The connections have both from the listener. The second breaks a connection whose reader is deaf: one that asks again and again
    // would use up the first for each of its questions.
    set_socket_timeout(&listener, Timeout::Send, Some(PATIENCE))?;
    set_tcp_user_timeout(&listener, u32::try_from(PATIENCE.as_millis()).unwrap_or(u32::MAX))?;
    let serve = move || {
        loop {
            let served =
                listener.try_clone().map_err(Into::into).and_then(|own| Server::from_listener(own, None));
            match served {
                Ok(server) => {
                    let mut failure = None;
                    while failure.is_none() {
                        match server.recv() {
                            Ok(request) => answer(request, stall, &observer),
                            Err(e) => failure = Some(e),
                        }
                    }
                    gst::warning!(CAT, "no connection can be accepted, which is tried again: {failure:?}");
                }
                Err(e) => gst::warning!(CAT, "nothing can listen at {bound}, which is tried again: {e}"),
            }
            std::thread::sleep(RETRY);
        }
    };
    std::thread::Builder::new().name("cudainfer:http".into()).spawn(serve)?;
    Ok(bound)
}

/// Status, type and text of an answer.
type Answer = (u16, &'static str, String);

fn answer(request: Request, stall: Duration, observer: &Observer) {
    let path = request.url().split(['?', '#']).next().unwrap_or_default().to_owned();
    let known = matches!(request.method(), Method::Get | Method::Head);
    let page =
        || if known { page(&path, stall, observer) } else { (405, TEXT, "only GET and HEAD\n".into()) };
    let (status, kind, text) = catch_unwind(AssertUnwindSafe(page))
        .unwrap_or_else(|_| (500, TEXT, "this is a bug of cudainfer: please report it\n".into()));
    let mut response = Response::from_string(text).with_status_code(status);
    if let Ok(header) = Header::from_bytes(b"Content-Type", kind.as_bytes()) {
        response.add_header(header);
    }
    if let Err(e) = request.respond(response) {
        gst::debug!(CAT, "an answer was not read: {e}");
    }
}

fn page(path: &str, stall: Duration, observer: &Observer) -> Answer {
    match path {
        "/metrics" => (200, prometheus::TEXT_FORMAT, metrics::text(observer)),
        "/healthz" => {
            let (healthy, text) = health::check(observer, stall);
            (if healthy { 200 } else { 503 }, JSON, text)
        }
        "/status" => (200, JSON, status::text(observer)),
        "/" => (200, TEXT, INDEX.into()),
        _ => (404, TEXT, format!("there is nothing here\n\n{INDEX}")),
    }
}
