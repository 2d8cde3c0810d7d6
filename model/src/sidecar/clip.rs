//! Clips: an input that takes the pictures of several frames along a dimension of time.

use serde::{Deserialize, Serialize};

use super::{Frames, MOST_FRAMES_BEFORE, Sidecar};

/// `[clip]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Clip {
    /// Frames of a clip.
    pub frames: usize,
    /// Of every `stride` frames one is in a clip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<usize>,
    /// There is a run at every `hop`th frame, once a clip is full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<usize>,
    /// The dimension of the input along which the frames lie, where the batch is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<usize>,
}

impl Clip {
    /// Of every `stride` frames one is in a clip.
    pub fn stride(&self) -> usize {
        self.stride.unwrap_or(1)
    }

    /// There is a run at every `hop`th frame; unless stated, a clip begins where the last one has ended.
    pub fn hop(&self) -> usize {
        self.hop.unwrap_or_else(|| self.frames.saturating_mul(self.stride()))
    }

    /// From the first frame of a clip to its last one.
    pub fn span(&self) -> usize {
        self.frames.saturating_sub(1).saturating_mul(self.stride()).saturating_add(1)
    }
}

impl Sidecar {
    /// What makes no sense of a clip whatever the model is.
    pub(super) fn check_clip(&self) -> Result<(), String> {
        let Some(clip) = self.clip else { return Ok(()) };
        for (key, value, example) in [
            ("frames", Some(clip.frames), "16, the length of the input's dimension of time"),
            ("stride", clip.stride, "1 for every frame, or 2 for every second one"),
            ("hop", clip.hop, "1 for a run at every frame, or 8 for one at every eighth"),
        ] {
            if value == Some(0) {
                return Err(format!("clip.{key} is 0, and must be 1 or more: write {example}"));
            }
        }
        if usize::try_from(MOST_FRAMES_BEFORE).is_ok_and(|most| clip.span() > most) {
            return Err(format!(
                "a clip of {} frames with stride={} goes back by more than {MOST_FRAMES_BEFORE} frames: set fewer frames or a smaller stride in \
                 [clip]",
                clip.frames,
                clip.stride()
            ));
        }
        let others =
            [("[state]", !self.state.outputs.is_empty()), ("[frames]", self.frames != Frames::default())];
        if let Some((other, _)) = others.iter().find(|(_, is_set)| *is_set) {
            return Err(format!("[clip] and {other} do not go together: remove one of them"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Clip, String> {
        let sidecar = toml::from_str::<Sidecar>(&format!("[clip]\n{text}")).map_err(|e| e.to_string())?;
        sidecar.check().map(|()| sidecar.clip.unwrap())
    }

    #[test]
    fn a_clip_has_each_frame_once_unless_it_is_stated_otherwise() {
        let clip = read("frames = 16").unwrap();
        assert_eq!((clip.stride(), clip.hop(), clip.span()), (1, 16, 16));
        let clip = read("frames = 16\nstride = 2").unwrap();
        assert_eq!((clip.stride(), clip.hop(), clip.span()), (2, 32, 31));
        assert_eq!(read("frames = 16\nstride = 2\nhop = 8").unwrap().hop(), 8);
    }

    #[test]
    fn what_makes_no_sense_is_a_sentence() {
        for (text, parts) in [
            ("stride = 2", &["missing field `frames`"][..]),
            ("frames = 0", &["clip.frames is 0", "write 16"]),
            ("frames = 4\nstride = 0", &["clip.stride is 0", "write 1"]),
            ("frames = 4\nhop = 0", &["clip.hop is 0", "write 1"]),
            ("frames = 4000\nstride = 2", &["4000 frames with stride=2", "4096"]),
            ("frames = 4\n[state]\na = \"b\"", &["[clip] and [state]", "remove one"]),
            ("frames = 4\n[frames]\nb = -1", &["[clip] and [frames]"]),
            ("frames = 4\nlength = 2", &["unknown field `length`"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
