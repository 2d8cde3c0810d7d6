//! The bodies of requests: read to their end before anything is answered. A client that is still sending when it gets its answer
//! sees a broken connection instead of it.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::BodyExt;

use super::answer::Refused;

/// The largest body that is taken, in bytes.
const LARGEST: usize = 256 * 1024;

/// The largest body that is read to its end before it is refused as too large.
const MOST_READ: usize = 4 * 1024 * 1024;

/// How long a whole body may take: a client that sends a byte at a time would keep its connection forever.
const WHOLE: Duration = Duration::from_secs(10);

/// Reads a body.
///
/// # Errors
/// It is too large, takes too long, or does not come whole.
pub async fn read(body: Body) -> Result<Body, Refused> {
    tokio::time::timeout(WHOLE, read_all(body)).await.unwrap_or_else(|_| {
        let sentence = format!("the body took too long: expected all of it within {} s", WHOLE.as_secs());
        Err(Refused::new(StatusCode::REQUEST_TIMEOUT, sentence))
    })
}

async fn read_all(mut body: Body) -> Result<Body, Refused> {
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

/// Reads a body to its end and drops it.
pub async fn discard(mut body: Body) {
    // The answer is the same if reading fails.
    let _ = tokio::time::timeout(WHOLE, each(&mut body, drop)).await;
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

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::body::HttpBody;
    use http_body_util::Full;

    use super::*;

    /// A body of single bytes at intervals, without an end.
    struct Drip(tokio::time::Interval);

    impl HttpBody for Drip {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            self.0.poll_tick(cx).map(|_| Some(Ok(http_body::Frame::data(Bytes::from_static(b"x")))))
        }
    }

    #[test]
    fn a_body_that_drips_for_ever_is_given_up_and_a_whole_one_is_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let drip = || Body::new(Drip(tokio::time::interval(Duration::from_secs(4))));
            let refused = read(drip()).await.unwrap_err();
            assert_eq!(refused.status, StatusCode::REQUEST_TIMEOUT);
            discard(drip()).await;
            let whole = read(Body::new(Full::new(Bytes::from_static(b"all")))).await.unwrap();
            assert_eq!(whole.collect().await.unwrap().to_bytes(), "all");
        });
    }
}
