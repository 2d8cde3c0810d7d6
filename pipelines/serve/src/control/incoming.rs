//! The bodies of requests: read to their end before anything is answered. A client that is still sending when it gets its answer
//! sees a broken connection instead of it.

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::BodyExt;

use super::answer::Refused;

/// The largest body that is taken, in bytes.
const LARGEST: usize = 256 * 1024;

/// The largest that is read to its end, only to say that it is too large.
const MOST_READ: usize = 4 * 1024 * 1024;

/// Reads a body.
///
/// # Errors
/// It is too large, or does not come whole.
pub async fn read(mut body: Body) -> Result<Body, Refused> {
    let mut bytes = Vec::new();
    let size = each(&mut body, |part| {
        if bytes.len() + part.len() <= LARGEST {
            bytes.extend_from_slice(&part);
        }
    })
    .await
    .map_err(|e| Refused::new(StatusCode::BAD_REQUEST, format!("the body has not come whole: {e}")))?;
    if size > LARGEST {
        let sentence = format!("the body is too large: expected {} KiB at most", LARGEST / 1024);
        return Err(Refused::new(StatusCode::PAYLOAD_TOO_LARGE, sentence));
    }
    Ok(Body::from(bytes))
}

/// Reads a body that nobody wants.
pub async fn discard(mut body: Body) {
    // What goes wrong with it changes nothing.
    let _ = each(&mut body, drop).await;
}

/// Calls `take` with each part, until the end or [`MOST_READ`]. Returns how many bytes have come.
async fn each(body: &mut Body, mut take: impl FnMut(Bytes)) -> Result<usize, axum::Error> {
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Ok(part) = frame?.into_data() else { continue };
        size += part.len();
        if size > MOST_READ {
            break;
        }
        take(part);
    }
    Ok(size)
}
