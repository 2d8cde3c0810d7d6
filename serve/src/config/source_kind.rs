//! What kind of source a URI names.

use super::Uri;

/// The kind of a source, as its URI names it.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceKind {
    /// `rtsp:`, `rtsps:` and their variants: a camera.
    Rtsp,
    /// `file:`.
    File,
    /// `http:`, `https:`: a file, HLS or MJPEG.
    Http,
    /// `v4l2:///dev/video0`.
    V4l2 {
        /// The device file.
        device: String,
    },
    /// `test://PATTERN`.
    Test(TestSource),
}

/// `test://PATTERN?width=W&height=H&rate=R&frames=N`.
#[derive(Clone, Debug, PartialEq)]
pub struct TestSource {
    /// videotestsrc's pattern.
    pub pattern: String,
    /// Pixels.
    pub width: i32,
    /// Pixels.
    pub height: i32,
    /// Frames a second.
    pub rate: i32,
    /// Frames until the end; none where it has no end.
    pub frames: Option<i32>,
}

impl SourceKind {
    /// Reads a URI.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(uri: &Uri) -> Result<Self, String> {
        // A camera is asked for it as well, and nobody sees why it refuses.
        if uri.whole().trim() != uri.whole() {
            return Err(format!("'{uri}' begins or ends with white space: leave it out"));
        }
        let Some((scheme, rest)) = uri.whole().split_once(':') else {
            return Err(format!(
                "'{uri}' is no URI: write rtsp://, file:///, http://, v4l2:///dev/video0 or test://ball"
            ));
        };
        match scheme {
            _ if uri.whole().contains('\0') => {
                Err(format!("'{}' is no URI: it has a NUL in it", uri.to_string().replace('\0', "\\0")))
            }
            "rtsp" | "rtspt" | "rtspu" | "rtsph" | "rtsps" | "rtspst" | "rtspsu" | "rtspsh" => Ok(Self::Rtsp),
            "file" if rest.starts_with("///") => Ok(Self::File),
            "file" => Err(format!("'{uri}' is no URI of a file: write file:/// and the absolute path")),
            "http" | "https" => Ok(Self::Http),
            "v4l2" => match rest.strip_prefix("//").filter(|device| device.starts_with('/')) {
                Some(device) => Ok(Self::V4l2 { device: device.into() }),
                None => Err(format!("'{uri}' names no device: write v4l2:///dev/video0")),
            },
            "test" => TestSource::parse(rest.trim_start_matches('/')).map(Self::Test),
            _ => Err(format!(
                "'{uri}' is not known as a source: use rtsp, rtsps, file, http, https, v4l2 or test"
            )),
        }
    }

    /// Whether the source may have an end; a camera has none.
    pub fn may_end(&self) -> bool {
        matches!(self, Self::File | Self::Http | Self::Test(_))
    }
}

impl TestSource {
    fn parse(rest: &str) -> Result<Self, String> {
        let (pattern, query) = rest.split_once('?').unwrap_or((rest, ""));
        let pattern = if pattern.is_empty() { "ball" } else { pattern };
        let mut source = Self { pattern: pattern.into(), width: 640, height: 480, rate: 15, frames: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = value.parse::<i32>().ok().filter(|number| (1..=1_000_000_000).contains(number));
            let number = number.ok_or_else(|| format!("{key}={value} of a test source is no number above 0"));
            match key {
                "width" => source.width = number?,
                "height" => source.height = number?,
                "rate" => source.rate = number?,
                "frames" => source.frames = Some(number?),
                _ => return Err(format!("a test source has width, height, rate and frames, not '{key}'")),
            }
        }
        if source.width > 16384 || source.height > 16384 || source.rate > 1000 {
            return Err("a test source has at most 16384x16384 pixels and 1000 frames a second".into());
        }
        Ok(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_understood_or_refused_with_what_to_write() {
        assert_eq!(SourceKind::parse(&"rtsp://camera/1".into()).unwrap(), SourceKind::Rtsp);
        assert_eq!(
            SourceKind::parse(&"v4l2:///dev/video0".into()).unwrap(),
            SourceKind::V4l2 { device: "/dev/video0".into() }
        );
        let test = TestSource { pattern: "snow".into(), width: 320, height: 480, rate: 15, frames: Some(3) };
        assert_eq!(
            SourceKind::parse(&"test://snow?width=320&frames=3".into()).unwrap(),
            SourceKind::Test(test)
        );
        for (uri, part) in [
            ("street.mp4", "is no URI"),
            ("rtsp://camera/stream ", "begins or ends with white space"),
            ("\trtsp://camera/stream", "begins or ends with white space"),
            ("file://street.mp4", "absolute path"),
            ("v4l2://video0", "v4l2:///dev/video0"),
            ("test://ball?wdth=3", "not 'wdth'"),
            ("test://ball?width=0", "width=0"),
            ("rtmp://x", "'rtmp://x' is not known"),
        ] {
            assert!(SourceKind::parse(&uri.into()).unwrap_err().contains(part), "{uri}");
        }
    }
}
