//! What a table of points needs besides the frames: the skeleton, the video's name, and the file beside it.

use std::io;
use std::path::{Path, PathBuf};

use cudainfer_files::{Folder, Readers};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::InferPublish;
use crate::individuals;
use crate::log::INFERPUBLISH as CAT;
use crate::model;
use crate::publish::LeftOut;
use crate::publish::file::STDOUT;
use crate::strings;
use crate::sync::lock;

impl InferPublish {
    /// Asks upstream for the skeleton and the video, if a table is written.
    ///
    /// # Errors
    /// A sentence: the model upstream has no skeleton, or another one than the header.
    pub(super) fn prepare_table(&self, sink: &gst::Pad, caps: &gst::CapsRef) -> Result<(), String> {
        // Without the lock: the query passes elements that may wait for this one.
        if !lock(&self.state).as_ref().is_some_and(|state| state.composer.makes_table()) {
            return Ok(());
        }
        let skeleton = model::ask_skeleton(sink);
        let format = caps.structure(0).and_then(|s| strings::field(s, "format"));
        let channels = if format.is_some_and(|format| format.starts_with("GRAY")) { 1 } else { 3 };
        let name = self.video_name(sink);
        let individuals = self.individuals(sink);
        let mut state = lock(&self.state);
        let Some(state) = state.as_mut() else { return Ok(()) };
        state.composer.set_individuals(usize::try_from(individuals).unwrap_or(usize::MAX));
        state.individuals = individuals;
        state.composer.set_video(name, channels);
        state.composer.set_skeleton(skeleton)
    }

    /// How many individuals have columns: as set, else as many as tracker follows, else one.
    fn individuals(&self, sink: &gst::Pad) -> u32 {
        let set = lock(&self.settings).individuals;
        if set > 0 { set } else { individuals::ask(sink).unwrap_or(1) }
    }

    /// The path of the file that the frames are read from, or its URI; else the camera's name or the stream's.
    fn video_name(&self, sink: &gst::Pad) -> String {
        let mut query = gst::query::Uri::new();
        let uri = sink.peer_query(&mut query).then(|| query.uri()).flatten();
        if let Some(uri) = uri {
            let path = glib::filename_from_uri(&uri)
                .ok()
                .and_then(|(path, _)| path.into_os_string().into_string().ok());
            return path.unwrap_or_else(|| uri.into());
        }
        let source = lock(&self.settings).source.clone();
        let stream = sink.stream_id().map(String::from).unwrap_or_default();
        let name = if source.is_empty() { stream } else { source };
        gst::info!(CAT, imp = self, "no element upstream names the video's file: it is called '{name}'");
        name
    }

    /// Writes the file beside the table, if the format has one and there are new frames.
    pub(super) fn write_companion(&self) {
        let location = lock(&self.settings).location.path().to_owned();
        let text = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut() else { return };
            let frames = Some(state.composer.frames());
            if std::mem::replace(&mut state.companion_of, frames) == frames {
                return;
            }
            state.composer.companion()
        };
        let Some(text) = text else { return };
        let Some(beside) = beside(&location) else {
            gst::info!(CAT, imp = self, "'{}' is no file: no other is written beside it", location.display());
            return;
        };
        if let Err(error) = write(&beside, &text) {
            let name = self.obj().name();
            gst::element_imp_warning!(
                self,
                gst::ResourceError::Write,
                (
                    "{name}: '{}' cannot be written: {error}. It has the skeleton's edges and the video's size, without which \
                     SLEAP opens '{}' as points only",
                    beside.display(),
                    location.display()
                )
            );
        }
    }

    /// Warns once of each way in which instances got no place in the table.
    pub(super) fn warn_of_left_out(&self) {
        let (individuals, news) = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut() else { return };
            let now = state.composer.left_out();
            // Nothing is said of most frames, and no text is made for them.
            if now == state.left_out {
                return;
            }
            let LeftOut { no_column, other_points, unordered } = std::mem::replace(&mut state.left_out, now);
            self.left_out.add_size(
                usize::try_from(now.no_column + now.other_points - no_column - other_points).unwrap_or(0),
            );
            let both =
                [(no_column, now.no_column), (other_points, now.other_points), (unordered, now.unordered)];
            (state.individuals, both)
        };
        let no_column = format!(
            "an instance is left out, because the table has columns for {individuals} individuals: its identity is above \
             that, or the frame has more. Set max-tracks of tracker, or individuals, to their number. The property stats counts them \
             as left-out"
        );
        let other_points = "an instance is left out, because none of its points is the skeleton's of the model nearest \
                            upstream. Put this element after the model whose points should be written. The property stats \
                            counts them as left-out"
            .to_owned();
        let unordered = "instances have no identities: in each frame they are in the order of their scores, so a column is \
                         not the same individual throughout. Put tracker with max-tracks before this element"
            .to_owned();
        for ((before, now), text) in news.into_iter().zip([no_column, other_points, unordered]) {
            if before == 0 && now > 0 {
                let name = self.obj().name();
                gst::element_imp_warning!(self, gst::StreamError::Failed, ("{name}: {text}"));
            }
        }
    }

    /// Warns that numbers of frames are not those of the video after a seek.
    pub(super) fn warn_of_seek(&self) {
        let begun = lock(&self.state)
            .as_ref()
            .is_some_and(|state| state.composer.makes_table() && state.composer.frames() > 0);
        if begun {
            let name = self.obj().name();
            gst::element_imp_warning!(
                self,
                gst::StreamError::Failed,
                ("{name}: the stream was flushed, and the table's frames count on: they are not the video's any more. \
                     Read the video from its beginning to its end")
            );
        }
    }
}

/// The name of the file beside a table; `None` where the table is no regular file.
fn beside(table: &Path) -> Option<PathBuf> {
    let regular = table != Path::new(STDOUT) && table.metadata().is_ok_and(|found| found.is_file());
    regular.then(|| table.with_extension("json"))
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Folder::open(folder, Readers::Umask)?.write(name, text)
}
