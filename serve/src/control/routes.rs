//! All routes, and what happens before each of them.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, delete, get, patch, post, put};

use super::answer::{Refused, not_allowed, not_found};
use super::sent::Sent;
use super::shared::Control;
use super::table::Connection;
use super::{
    configuration, counts, deepstream, discover, elements, event_stream, events, files, health, incoming,
    live, metrics, page, pipelines, snapshot, streams, test_picture, whep, zones,
};

/// A path and its handlers.
struct Route {
    /// The path, with `{name}` for what varies.
    path: &'static str,
    /// Whether it is answered without the token, because the answer has nothing about the streams.
    open: bool,
    handler: MethodRouter<Arc<Control>>,
}

/// The table.
fn table() -> Vec<Route> {
    let route = |path, handler| Route { path, open: false, handler };
    let open = |path, handler| Route { path, open: true, handler };
    vec![
        open("/", get(page::index)),
        open("/page/{file}", get(page::file)),
        open("/livez", get(health::livez)),
        open("/readyz", get(health::readyz)),
        open("/healthz", get(health::healthz)),
        open("/v1/openapi.json", get(page::openapi)),
        route("/status", get(health::status)),
        route("/metrics", get(metrics::metrics)),
        route("/v1/streams", get(streams::list).merge(post(streams::add))),
        route(
            "/v1/streams/{name}",
            get(streams::one).merge(patch(streams::change)).merge(delete(streams::remove)),
        ),
        route("/v1/streams/{name}/restart", post(streams::restart)),
        route("/v1/streams/{name}/zones", get(zones::read).merge(put(zones::write))),
        route("/v1/streams/{name}/snapshot.jpg", get(snapshot::snapshot)),
        route("/v1/streams/{name}/live.jpg", get(live::live)),
        route("/v1/streams/{name}/whep", post(whep::open)),
        route("/v1/streams/{name}/whep/{session}", delete(whep::close)),
        route("/v1/streams/{name}/elements", get(elements::elements)),
        route("/v1/streams/{name}/record", post(files::record)),
        route("/v1/streams/{name}/recordings", get(files::list)),
        route("/v1/streams/{name}/recordings/{file}", get(files::recording)),
        route("/v1/streams/{name}/snapshots", get(files::snapshots)),
        route("/v1/streams/{name}/snapshots/{file}", get(files::picture)),
        route("/v1/streams/{name}/events/{file}", get(files::event_picture)),
        route("/v1/streams/{name}/hls/{file}", get(files::hls)),
        route("/v1/events", get(events::list)),
        route("/v1/events/live", get(event_stream::live)),
        route("/v1/history", get(events::series)),
        route("/v1/live", get(live::many)),
        route("/v1/counts", get(counts::counts)),
        route("/v1/configuration.toml", get(configuration::configuration)),
        route("/v1/test-picture", post(test_picture::test_picture)),
        route("/v1/discover", post(discover::cameras)),
        route("/v1/discover/profiles", post(discover::profiles)),
        route("/v1/models", get(pipelines::models)),
        route("/v1/pipelines", get(pipelines::list)),
        route("/v1/pipelines/{name}/model", put(pipelines::model)),
        route("/api/v1/stream/add", post(deepstream::add)),
        route("/api/v1/stream/remove", post(deepstream::remove)),
    ]
}

/// The paths, for the comparison with openapi.json.
pub fn paths() -> Vec<&'static str> {
    table().iter().map(|route| route.path).collect()
}

/// The service.
pub fn router(control: Arc<Control>) -> Router {
    let mut router = Router::new();
    for Route { path, open, handler } in table() {
        router = router.route(path, checked(&control, open, handler.fallback(not_allowed)));
    }
    let nothing = checked(&control, false, any(not_found)).with_state(Arc::clone(&control));
    router.fallback_service(nothing).layer(middleware::map_response(headers)).with_state(control)
}

/// Has requests checked, and their bodies read, before a handler gets them.
fn checked(
    control: &Arc<Control>,
    open: bool,
    handler: MethodRouter<Arc<Control>>,
) -> MethodRouter<Arc<Control>> {
    let control = Arc::clone(control);
    let check = move |request: Request, next: Next| {
        let allowed = control.access.check(request.headers(), open);
        async move {
            let (parts, body) = request.into_parts();
            if let Err(refused) = allowed {
                incoming::discard(body).await;
                return refused.into_response();
            }
            let body = match incoming::read(body).await {
                Ok(body) => body,
                Err(refused) => return refused.into_response(),
            };
            // Open routes answer at once, so they need no limit on requests.
            let connection = parts.extensions.get::<Connection>().filter(|_| !open);
            let begun = connection.map(Connection::begin).transpose();
            let under_way = match begun {
                Ok(under_way) => under_way,
                Err(limit) => return too_many(limit).into_response(),
            };
            let response = next.run(Request::from_parts(parts, body)).await;
            match under_way.map(Arc::new) {
                Some(request) => response.map(|body| Body::new(Sent { body, request })),
                None => response,
            }
        }
    };
    handler.layer(middleware::from_fn(check))
}

fn too_many(limit: usize) -> Refused {
    let sentence = format!(
        "too many requests are under way: expected {limit} at most of one address. Ask again when others have been answered"
    );
    Refused::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
}

/// Headers of every answer: caches keep nothing, browsers do not guess types, and no other site's page shows it.
async fn headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CONTENT_SECURITY_POLICY, page::POLICY),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
