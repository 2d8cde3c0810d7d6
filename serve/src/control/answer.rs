//! The answer to a request that is wrong or fails: a status and `{"error": "sentence"}`.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::config::redacted;

/// A request that was not done.
#[derive(Debug)]
pub struct Refused {
    /// The status.
    pub status: StatusCode,
    /// The sentence.
    pub sentence: String,
}

impl Refused {
    /// With a status and a sentence.
    pub fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        // A sentence may quote a URI with a password.
        Self { status, sentence: redacted(&sentence.into()) }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.sentence }))).into_response()
    }
}

impl From<JsonRejection> for Refused {
    fn from(rejection: JsonRejection) -> Self {
        let sentence = match &rejection {
            JsonRejection::MissingJsonContentType(_) => {
                "expected a JSON body: set Content-Type: application/json".into()
            }
            JsonRejection::JsonDataError(e) => format!("the body does not fit: {}", cause(e)),
            JsonRejection::JsonSyntaxError(e) => format!("the body is no JSON: {}", cause(e)),
            other => other.body_text(),
        };
        // For the author of the request, 422 means the same as 400.
        let status = match rejection.status() {
            StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
            status => status,
        };
        Self::new(status, sentence)
    }
}

impl From<QueryRejection> for Refused {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(StatusCode::BAD_REQUEST, format!("the query does not fit: {}", cause(&rejection)))
    }
}

/// The innermost reason, which names the field.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(next) = innermost.source() {
        innermost = next;
    }
    innermost.to_string()
}

/// A JSON body whose faults are sentences.
#[derive(FromRequest)]
#[from_request(via(Json), rejection(Refused))]
pub struct Body<T>(pub T);

/// A query whose faults are sentences.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Refused))]
pub struct Query<T>(pub T);

/// The answer for a path that does not exist.
pub async fn not_found() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "there is nothing here: /v1/openapi.json lists what there is")
}

/// The answer for a path that does not take this method.
pub async fn not_allowed() -> Refused {
    Refused::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not take this method: /v1/openapi.json lists those that it takes",
    )
}
