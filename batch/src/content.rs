//! What a file holds, as far as its first bytes tell.

use std::io::{self, Read};
use std::path::Path;

use crate::videos::Video;

/// Bytes that are looked at. GStreamer's typefind begins with as many.
const LOOKED_AT: u64 = 1 << 16;

/// Why a file that is there cannot be a video: it is empty, GStreamer knows no type that begins so, or it is text.
pub fn no_video(video: &Video) -> Option<String> {
    if video.is_uri() {
        return None;
    }
    // What cannot be read is said elsewhere.
    let begin = first_bytes(Path::new(&video.location)).ok()?;
    let what = if begin.is_empty() {
        "is empty".to_owned()
    } else {
        match gst_base::type_find_helper_for_data(gst::Object::NONE, &begin) {
            Ok((caps, _)) => {
                let name = caps.structure(0).map(|structure| structure.name().as_str())?;
                name.starts_with("text/").then(|| format!("is {name}"))?
            }
            Err(_) => "begins like nothing that GStreamer knows".to_owned(),
        }
    };
    Some(format!("'{}' is no video: it {what}. Copy it again, or leave it out", video.location))
}

fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    cudainfer_files::open(path)?.take(LOOKED_AT).read_to_end(&mut begin)?;
    Ok(begin)
}
