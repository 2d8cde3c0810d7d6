//! The page and the description of the routes, which are part of the program.

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// The page's content security policy: nothing from elsewhere, nothing inline.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
                          base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// openapi.json.
pub const OPENAPI: &str = include_str!("../../openapi.json");

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

pub async fn index() -> impl IntoResponse {
    ([(CONTENT_TYPE, HTML)], include_str!("../../page/index.html"))
}

pub async fn app() -> impl IntoResponse {
    ([(CONTENT_TYPE, SCRIPT)], include_str!("../../page/app.js"))
}

pub async fn api() -> impl IntoResponse {
    ([(CONTENT_TYPE, SCRIPT)], include_str!("../../page/api.js"))
}

pub async fn zones() -> impl IntoResponse {
    ([(CONTENT_TYPE, SCRIPT)], include_str!("../../page/zones.js"))
}

pub async fn ground() -> impl IntoResponse {
    ([(CONTENT_TYPE, SCRIPT)], include_str!("../../page/ground.js"))
}

pub async fn handle() -> impl IntoResponse {
    ([(CONTENT_TYPE, SCRIPT)], include_str!("../../page/handle.js"))
}

pub async fn plane() -> impl IntoResponse {
    ([(CONTENT_TYPE, SCRIPT)], include_str!("../../page/plane.js"))
}

pub async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, CSS)], include_str!("../../page/style.css"))
}

pub async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], OPENAPI)
}
