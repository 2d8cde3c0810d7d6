//! The page and the description of the routes, which are part of the program. The page's files are sent as they are written:
//! nothing builds them.

use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::answer::{Refused, not_found};

/// The page's content security policy: nothing from elsewhere, nothing inline.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// openapi.json.
pub const OPENAPI: &str = include_str!("../../openapi.json");

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        /// The files that index.html leads to, by name.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../page/", $name)))),+];
    };
}

files![
    "api.js",
    "app.js",
    "attempt.js",
    "camera.js",
    "chart.js",
    "discover.js",
    "dom.js",
    "download.js",
    "elements.js",
    "event-item.js",
    "events.js",
    "frame.js",
    "ground.js",
    "handle.js",
    "live-video.js",
    "live-wall.js",
    "live.js",
    "login.js",
    "pace.js",
    "patience.js",
    "plane.js",
    "playback.js",
    "repeat.js",
    "router.js",
    "setup.js",
    "snapshots.js",
    "sse.js",
    "state.js",
    "style.css",
    "test-picture.js",
    "thumbnail.js",
    "time.js",
    "timeline.js",
    "wall.js",
    "zones.js",
];

pub async fn index() -> impl IntoResponse {
    ([(CONTENT_TYPE, HTML)], include_str!("../../page/index.html"))
}

/// One of the files.
pub async fn file(Path(name): Path<String>) -> Result<Response, Refused> {
    let Some((name, text)) = FILES.iter().find(|(own, _)| *own == name) else {
        return Err(not_found().await);
    };
    let kind = if name.ends_with(".css") { CSS } else { SCRIPT };
    Ok(([(CONTENT_TYPE, kind)], *text).into_response())
}

pub async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], OPENAPI)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_served_and_imports_only_those() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let written: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "index.html")
            .collect();
        let served: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(written, served);
        for (name, text) in FILES {
            for line in text.lines().filter(|line| line.starts_with("import ") || line.starts_with("} from "))
            {
                let Some((_, rest)) = line.split_once("\"./") else { continue };
                let imported = rest.split('"').next().unwrap_or_default();
                assert!(served.contains(imported), "{name} imports {imported}");
            }
        }
    }
}
