//! The codecs of live video.

/// What browsers decode and encoders make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// H.264, the baseline profile.
    H264,
    /// VP8.
    Vp8,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::H264, Self::Vp8];

    /// Its name in SDP and in the caps of RTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::H264 => "H264",
            Self::Vp8 => "VP8",
        }
    }
}
