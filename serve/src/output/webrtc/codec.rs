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

    /// The elements that it needs besides an encoder.
    pub fn elements(self) -> &'static [&'static str] {
        match self {
            Self::H264 => &["h264parse", "rtph264pay"],
            Self::Vp8 => &["rtpvp8pay"],
        }
    }

    /// What follows an encoder, so that its payloader takes what comes.
    pub fn after_encoder(self) -> &'static str {
        match self {
            Self::H264 => {
                "video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1 \
                 ! video/x-h264,stream-format=byte-stream,alignment=au"
            }
            Self::Vp8 => "video/x-vp8",
        }
    }
}
