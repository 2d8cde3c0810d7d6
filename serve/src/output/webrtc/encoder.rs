//! The encoders of live video, and which of them can be used here.

use super::codec::Codec;

/// An encoder, from raw frames to a stream that its codec's payloader takes. All are set for the least latency: no frame waits for another
/// one. Key frames are asked for, so their own distance is long.
#[derive(Debug)]
pub struct Encoder {
    /// The name of its element.
    pub name: &'static str,
    /// What it makes.
    pub codec: Codec,
    /// Properties whose values depend on nothing. Those that an older or newer element does not have are left out.
    settings: &'static [(&'static str, &'static str)],
    /// The property of the bit rate, and how many bits a second its unit is.
    bitrate: (&'static str, u32),
}

/// Best first: those of the hardware cost the processor nothing, and H.264 costs it less than VP8.
const ENCODERS: &[Encoder] = &[
    Encoder {
        name: "nvh264enc",
        codec: Codec::H264,
        settings: &[("zerolatency", "true"), ("bframes", "0"), ("b-frames", "0"), ("gop-size", "1000")],
        bitrate: ("bitrate", 1000),
    },
    Encoder {
        name: "vah264enc",
        codec: Codec::H264,
        settings: &[("b-frames", "0"), ("key-int-max", "1000"), ("ref-frames", "1")],
        bitrate: ("bitrate", 1000),
    },
    Encoder {
        name: "x264enc",
        codec: Codec::H264,
        settings: &[
            ("tune", "zerolatency"),
            ("speed-preset", "superfast"),
            ("bframes", "0"),
            ("key-int-max", "1000"),
            ("vbv-buf-capacity", "500"),
            ("threads", "2"),
        ],
        bitrate: ("bitrate", 1000),
    },
    Encoder {
        name: "openh264enc",
        codec: Codec::H264,
        settings: &[
            ("complexity", "low"),
            ("rate-control", "bitrate"),
            ("gop-size", "1000"),
            ("multi-thread", "2"),
        ],
        bitrate: ("bitrate", 1),
    },
    Encoder {
        name: "vp8enc",
        codec: Codec::Vp8,
        settings: &[
            ("deadline", "1"),
            ("cpu-used", "-8"),
            ("end-usage", "cbr"),
            ("lag-in-frames", "0"),
            ("keyframe-max-dist", "1000"),
            ("buffer-initial-size", "300"),
            ("buffer-optimal-size", "400"),
            ("buffer-size", "600"),
            // Several wait for each other by spinning: on a machine that is busy, that takes thirty times as long.
            ("threads", "1"),
        ],
        bitrate: ("target-bitrate", 1),
    },
];

/// What is sent whatever the codec, and the Debian package of each.
const TRANSPORT: &[(&str, &str)] = &[
    ("webrtcbin", "gstreamer1.0-plugins-bad"),
    ("dtlsenc", "gstreamer1.0-plugins-bad"),
    ("srtpenc", "gstreamer1.0-plugins-bad"),
    ("nicesink", "gstreamer1.0-nice"),
    ("nicesrc", "gstreamer1.0-nice"),
    ("rtpbin", "gstreamer1.0-plugins-good"),
];

impl Encoder {
    /// The description of its elements, for pictures of this many pixels.
    pub fn description(&self, pixels: u32) -> String {
        let has = |element: &gst::Element, name: &str| {
            use gst::prelude::*;
            element.find_property(name).is_some()
        };
        let (bitrate, unit) = self.bitrate;
        let mut description = format!("videoconvert ! {} {bitrate}={}", self.name, bits(pixels) / unit);
        if let Ok(element) = gst::ElementFactory::make(self.name).build() {
            for (name, value) in self.settings.iter().filter(|(name, _)| has(&element, name)) {
                description += &format!(" {name}={value}");
            }
        }
        format!("{description} ! {}", self.codec.after_encoder())
    }
}

/// Bits a second for pictures of this many pixels: half a megabit for 640 x 360, two for 1280 x 720.
fn bits(pixels: u32) -> u32 {
    (pixels / 450).clamp(400, 4000) * 1000
}

/// The encoders that are installed, best first.
///
/// # Errors
/// A sentence for the log and the API: what is missing, and what to install.
pub fn installed() -> Result<Vec<&'static Encoder>, String> {
    installed_of(|name| gst::ElementFactory::find(name).is_some())
}

fn installed_of(is_there: impl Fn(&str) -> bool) -> Result<Vec<&'static Encoder>, String> {
    let missing: Vec<_> = TRANSPORT.iter().filter(|(element, _)| !is_there(element)).collect();
    if !missing.is_empty() {
        let elements: Vec<_> = missing.iter().map(|(element, _)| *element).collect();
        let mut packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
        packages.dedup();
        return Err(format!(
            "live video by WebRTC needs the elements {}: install {} (their names in Debian and Ubuntu), and start the service again",
            elements.join(", "),
            packages.join(" and ")
        ));
    }
    let usable = |encoder: &&Encoder| {
        is_there(encoder.name) && encoder.codec.elements().iter().all(|element| is_there(element))
    };
    let found: Vec<_> = ENCODERS.iter().filter(usable).collect();
    if found.is_empty() {
        let names: Vec<_> = ENCODERS.iter().map(|encoder| encoder.name).collect();
        return Err(format!(
            "live video by WebRTC needs one of the encoders {}: install gstreamer1.0-plugins-good, which has vp8enc, and start the \
             service again",
            names.join(", ")
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let without = installed_of(|name| !name.starts_with("nice")).unwrap_err();
        assert!(
            without.contains("nicesink, nicesrc") && without.contains("install gstreamer1.0-nice ("),
            "{without}"
        );
        let no_encoder = installed_of(|name| {
            !name.ends_with("enc") || name.starts_with("dtls") || name.starts_with("srtp")
        });
        assert!(no_encoder.unwrap_err().contains("vp8enc"));
        let no_parser = installed_of(|name| name != "h264parse").unwrap();
        assert_eq!(no_parser.iter().map(|encoder| encoder.name).collect::<Vec<_>>(), ["vp8enc"]);
        assert_eq!(installed_of(|_| true).unwrap()[0].name, "nvh264enc");
    }

    #[test]
    fn the_description_of_every_encoder_that_is_installed_can_be_parsed() {
        gst::init().unwrap();
        for encoder in ENCODERS.iter().filter(|encoder| gst::ElementFactory::find(encoder.name).is_some()) {
            // Caps at the end need something after them.
            let description = format!("{} ! fakesink", encoder.description(640 * 360));
            gst::parse::bin_from_description(&description, true)
                .unwrap_or_else(|e| panic!("{description}: {e}"));
        }
        assert_eq!((bits(16 * 16), bits(640 * 360), bits(1280 * 720)), (400_000, 512_000, 2_048_000));
    }
}
