//! Answers by HTTP while pipelines run: `/metrics`, `/healthz` and `/status`.

mod connections;
mod health;
mod host;
mod status;

use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Method, Request, Response, StatusCode};
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use self::connections::Answer;
use self::host::Names;
use super::metrics;
use super::observe::Observer;

/// How long sent bytes may remain without an acknowledgement, or unsent because their reader takes nothing.
const PATIENCE: Duration = Duration::from_secs(5);

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

const INDEX: &str = "cudainfer\n/metrics  for Prometheus\n/healthz  200 while frames move, else 503\n/status   the statistics of every element\n";

/// Listens at `address`, in a thread of its own, until the process ends. Returns the address that it is bound to.
///
/// # Errors
/// The address is not valid, or another process has it, or there is no thread.
pub(super) fn start(address: &str, stall: Duration, observer: Arc<Observer>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    // The connections inherit it from the listener.
    set_tcp_user_timeout(&listener, u32::try_from(PATIENCE.as_millis()).unwrap_or(u32::MAX))?;
    let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let names = Names::new(address, bound);
    let serve = move || {
        let answer = Rc::new(move |request: &Request<Incoming>| answer(request, &names, stall, &observer));
        LocalSet::new().block_on(&runtime, connections::serve(listener, answer));
    };
    std::thread::Builder::new().name("cudainfer:http".into()).spawn(serve)?;
    Ok(bound)
}

/// Status, type and text of an answer.
type Page = (StatusCode, &'static str, String);

fn answer(request: &Request<Incoming>, names: &Names, stall: Duration, observer: &Observer) -> Answer {
    let whole = request.body().is_end_stream();
    let refused = |status, text: &str| (status, TEXT, text.to_owned());
    let (status, kind, text) = if !names.allow(request.uri(), request.headers()) {
        let text = "this name is not this machine's. Ask for localhost or an IP address, or write the name in the tracer's option metrics\n";
        refused(StatusCode::MISDIRECTED_REQUEST, text)
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        refused(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n")
    } else if !whole {
        refused(StatusCode::PAYLOAD_TOO_LARGE, "requests with a body are not read\n")
    } else {
        catch_unwind(AssertUnwindSafe(|| page(request.uri().path(), stall, observer))).unwrap_or_else(|_| {
            refused(StatusCode::INTERNAL_SERVER_ERROR, "this is a bug of cudainfer: please report it\n")
        })
    };
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if !whole {
        // The rest is the body, which is not read.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn page(path: &str, stall: Duration, observer: &Observer) -> Page {
    match path {
        "/metrics" => (StatusCode::OK, prometheus::TEXT_FORMAT, metrics::text(observer)),
        "/healthz" => {
            let (healthy, text) = health::check(observer, stall);
            (if healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, JSON, text)
        }
        "/status" => (StatusCode::OK, JSON, status::text(observer)),
        "/" => (StatusCode::OK, TEXT, INDEX.into()),
        _ => (StatusCode::NOT_FOUND, TEXT, format!("there is nothing here\n\n{INDEX}")),
    }
}

#[cfg(test)]
mod tests;
