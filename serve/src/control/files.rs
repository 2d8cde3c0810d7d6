//! Recordings, pictures and HLS: `/v1/streams/{name}/record`, `…/recordings`, `…/recordings/{file}`, `…/snapshots`,
//! `…/snapshots/{file}`, `…/events/{file}`, `…/hls/{file}`.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};
use tower_http::services::ServeFile;

use super::answer::Refused;
use super::shared::{Control, ControlState, blocking};
use super::streams::{ask, known};
use crate::folders::Folders;

pub async fn record(
    State(control): ControlState,
    Path(name): Path<String>,
) -> Result<impl IntoResponse, Refused> {
    let stream = name.clone();
    ask(&control, move |fleet| fleet.begin_recording(&stream)).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "stream": name }))))
}

pub async fn list(State(control): ControlState, Path(name): Path<String>) -> Result<Json<Value>, Refused> {
    known(&control, &name)?;
    let fleet = control.fleet.clone();
    let recordings = blocking(move || fleet.outputs(&name).map(|outputs| outputs.recordings())).await?;
    Ok(Json(json!({ "recordings": recordings.unwrap_or_default() })))
}

pub async fn recording(
    State(control): ControlState,
    Path((name, file)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    send(&control, &name, &file, |folders| folders.recordings, request).await
}

pub async fn snapshots(
    State(control): ControlState,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refused> {
    known(&control, &name)?;
    there(&control)?;
    let fleet = control.fleet.clone();
    let pictures = blocking(move || fleet.outputs(&name).map(|outputs| outputs.pictures())).await?;
    Ok(Json(json!({ "snapshots": pictures.unwrap_or_default() })))
}

/// Pictures need a folder.
fn there(control: &Control) -> Result<(), Refused> {
    let state = control.fleet.config().server.state.is_some();
    let sentence = "there are no pictures without a folder for them: set state in [server]";
    state.then_some(()).ok_or_else(|| Refused::new(StatusCode::CONFLICT, sentence))
}

pub async fn picture(
    State(control): ControlState,
    Path((name, file)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    known(&control, &name)?;
    there(&control)?;
    send(&control, &name, &file, |folders| folders.snapshots, request).await
}

pub async fn event_picture(
    State(control): ControlState,
    Path((name, file)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    known(&control, &name)?;
    there(&control)?;
    send(&control, &name, &file, |folders| folders.events, request).await
}

pub async fn hls(
    State(control): ControlState,
    Path((name, file)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    send(&control, &name, &file, |folders| folders.hls, request).await
}

/// Sends a file of a stream, or the requested part of it.
async fn send(
    control: &Arc<Control>,
    name: &str,
    file: &str,
    folder: impl FnOnce(Folders) -> PathBuf,
    request: Request,
) -> Result<Response, Refused> {
    known(control, name)?;
    let absent = || Refused::new(StatusCode::NOT_FOUND, format!("stream '{name}' has no file '{file}'"));
    // A single name that is not hidden: so nothing above the folder can be requested.
    let plain = FilePath::new(file).file_name().is_some_and(|plain| plain == file) && !file.starts_with('.');
    let config = control.fleet.config();
    let state = config.server.state.as_deref().filter(|_| plain).ok_or_else(absent)?;
    let opened = open(&folder(Folders::of(state, name)), file).map_err(|e| match Errno::from_io_error(&e) {
        Some(Errno::MFILE | Errno::NFILE) => Refused::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("'{file}' cannot be opened, since the process has no file descriptor left. Ask again later"),
        ),
        _ => absent(),
    })?;
    let kind = kind(FilePath::new(file));
    // The open file is sent, even if another file has got its name since.
    let sent = ServeFile::new(format!("/proc/self/fd/{}", opened.as_raw_fd())).try_call(request).await;
    let mut sent = sent.map(IntoResponse::into_response).map_err(|_| absent())?;
    sent.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(sent)
}

/// Opens a regular file of a folder: links could lead anywhere, and opening a FIFO would hang.
fn open(folder: &FilePath, file: &str) -> std::io::Result<OwnedFd> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | flags, Mode::empty())?;
    let file = rustix::fs::openat(folder, file, OFlags::RDONLY | OFlags::NONBLOCK | flags, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn kind(path: &FilePath) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("mp4") => "video/mp4",
        Some("jpg") => "image/jpeg",
        Some("json") => "application/json",
        Some("ts") => "video/mp2t",
        Some("m3u8") => "application/vnd.apple.mpegurl",
        _ => "application/octet-stream",
    }
}
