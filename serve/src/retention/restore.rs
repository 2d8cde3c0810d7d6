//! Unfinished files of a process that was killed. Recordings play up to the last second before that, and get their names; all
//! other files are removed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cudainfer_files as files;

use super::unfinished::{about, finished, name_free};
use super::walk::collect;
use crate::log;

/// Bytes of a box's length and type.
const HEADER: u64 = 8;

/// Bytes of a text about a recording. It has a hundred.
const LONGEST_ABOUT: u64 = 4096;

/// A recording that a process has left incomplete, and that plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Its path.
    pub file: PathBuf,
    /// The text about it, if there was one.
    pub about: Option<String>,
}

/// Gives the unfinished files below a folder their names, or removes them. No process may be writing there. Returns those that play.
pub fn restore(folder: &Path) -> Vec<Restored> {
    let mut files = Vec::new();
    collect(folder, &mut files);
    let unfinished = files.iter().filter_map(|file| Some((&file.path, finished(&file.path)?)));
    let (recordings, others): (Vec<_>, Vec<_>) = unfinished.partition(|(_, name)| is_recording(name));
    let restored = recordings.into_iter().filter_map(|(path, name)| {
        // It is one of the others, which go.
        let about = text(&about(&name));
        Some(Restored { file: restore_one(path, &name)?, about })
    });
    let restored = restored.collect();
    for (path, name) in others {
        restore_one(path, &name);
    }
    restored
}

/// A short text.
fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    files::open_unlinked(path).ok()?.take(LONGEST_ABOUT).read_to_string(&mut text).ok()?;
    Some(text)
}

fn is_recording(name: &Path) -> bool {
    name.extension().is_some_and(|kind| kind == "mp4")
}

/// Gives an unfinished file its name if it plays, and removes it if it does not. Returns its path if it plays.
pub fn restore_one(path: &Path, name: &Path) -> Option<PathBuf> {
    let plays = is_recording(name) && plays(path).unwrap_or(false);
    let done =
        if plays { name_free(path, name).map(Some) } else { std::fs::remove_file(path).map(|()| None) };
    match done {
        Ok(Some(name)) => {
            log::info(format_args!("{} was not completed, and plays up to its last second", name.display()));
            return Some(name);
        }
        Ok(None) if is_recording(name) => {
            log::info(format_args!("removed {}, of which nothing plays", path.display()))
        }
        Ok(None) => log::info(format_args!("removed {}, which was not completed", path.display())),
        Err(error) => log::warning(format_args!("{} is incomplete, and stays so: {error}", path.display())),
    }
    None
}

/// Whether a fragmented MP4 file has its head and frames (ISO/IEC 14496-12: boxes of a length and a type). The muxer begins the
/// first second with a box of frames of length 0, which means all bytes that follow, until the length is known.
fn plays(path: &Path) -> io::Result<bool> {
    let mut file = files::open_unlinked(path)?;
    let end = file.metadata()?.len();
    let (mut at, mut has_head, mut has_frames) = (0, false, false);
    while let Some((kind, size)) = header(&mut file, at)? {
        has_frames |= kind == *b"mdat" && end.saturating_sub(at) > HEADER;
        let next = at.saturating_add(size);
        has_head |= kind == *b"moov" && next <= end;
        if size < HEADER || next > end {
            break;
        }
        at = next;
    }
    Ok(has_head && has_frames)
}

/// The type and length of the box that begins there, if there is one.
fn header(file: &mut File, at: u64) -> io::Result<Option<([u8; 4], u64)>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(16).read_to_end(&mut bytes)?;
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let Some((size, kind)) = bytes.get(..4).zip(bytes.get(4..8).and_then(|kind| kind.try_into().ok())) else {
        return Ok(None);
    };
    Ok(match number(size) {
        // The length follows the type.
        1 => bytes.get(8..16).map(|size| (kind, number(size))),
        size => Some((kind, size)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(kind: &str, size: usize) -> Vec<u8> {
        let mut bytes = u32::try_from(size).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(kind.as_bytes());
        bytes.resize(size, 0);
        bytes
    }

    #[test]
    fn what_plays_gets_its_name_without_taking_anothers_and_the_rest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("recordings/door");
        std::fs::create_dir_all(&sub).unwrap();
        let head = [boxed("ftyp", 24), boxed("moov", 100)].concat();
        let fragment = [boxed("moof", 40), boxed("mdat", 90)].concat();
        let mut open = boxed("mdat", 90);
        open[..4].fill(0);
        let put = |name: &str, bytes: &[u8]| std::fs::write(sub.join(name), bytes).unwrap();
        put("open.mp4.part", &[&head[..], &open].concat());
        put("before.mp4.part", &[boxed("ftyp", 24), boxed("mdat", 90), boxed("moov", 100)].concat());
        put(
            "without-head.mp4.part",
            &[boxed("ftyp", 24), boxed("mdat", 90), boxed("moov", 100)[..50].to_vec()].concat(),
        );
        put("whole.mp4.part", &[&head[..], &fragment, &fragment[..60]].concat());
        put("taken.mp4", b"another");
        put("taken.mp4.part", &[&head[..], &fragment].concat());
        put("cut.mp4.part", &[&head[..], &fragment[..45]].concat());
        put("head.mp4.part", &head);
        put("empty.mp4.part", b"");
        put("noise.mp4.part", &[0xff; 500]);
        put("zeros.mp4.part", &[0; 500]);
        put("picture.jpg.part", &[&head[..], &fragment].concat());
        put("kept.jpg", b"x");
        let outside = folder.path().join("outside");
        std::fs::write(&outside, [&head[..], &fragment].concat()).unwrap();
        std::os::unix::fs::symlink(&outside, sub.join("link.mp4.part")).unwrap();
        std::fs::write(sub.join("whole.mp4.about.part"), "about it").unwrap();
        std::fs::write(sub.join("head.mp4.about.part"), "nothing plays").unwrap();
        let mut restored = restore(folder.path());
        restored.sort_by(|one, other| one.file.cmp(&other.file));
        let about = |name: &str| (name == "whole.mp4").then(|| "about it".to_owned());
        let expected = ["before.mp4", "open.mp4", "taken-2.mp4", "whole.mp4"]
            .map(|name| Restored { file: sub.join(name), about: about(name) });
        assert_eq!(restored, expected);
        let mut names: Vec<_> = std::fs::read_dir(&sub)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let left =
            ["before.mp4", "kept.jpg", "link.mp4.part", "open.mp4", "taken-2.mp4", "taken.mp4", "whole.mp4"];
        assert_eq!(names, left);
        assert_eq!(std::fs::read(sub.join("taken.mp4")).unwrap(), b"another");
    }

    #[test]
    fn a_recording_that_is_cut_off_in_its_first_second_plays_and_is_kept() {
        cudainfer_tests::init();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.mp4.part");
        let description = format!(
            "videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=30/1 ! x264enc tune=zerolatency key-int-max=15 \
             ! h264parse ! mp4mux fragment-duration=1000 fragment-mode=first-moov-then-finalise ! filesink buffer-mode=unbuffered \
             location={}",
            file.display()
        );
        let writing = cudainfer_tests::TestPipeline::new(&description);
        writing.play();
        cudainfer_tests::until("there are frames", || plays(&file).unwrap_or(false));
        // A copy of the first frames, which is the least that a killed process leaves.
        std::fs::copy(&file, folder.path().join("b.mp4.part")).unwrap();
        writing.stop();
        std::fs::remove_file(&file).unwrap();
        restore(folder.path());
        let description = format!(
            "filesrc location={} ! qtdemux ! h264parse ! avdec_h264 ! fakesink name=end signal-handoffs=true",
            folder.path().join("b.mp4").display()
        );
        let reading = cudainfer_tests::TestPipeline::new(&description);
        let frames = reading.collect("end");
        reading.play();
        cudainfer_tests::until("a frame is decoded", || !frames.lock().unwrap().is_empty());
        reading.stop();
    }
}
