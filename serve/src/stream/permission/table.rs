//! The properties that clients may set. docs/serve-permissions.md has the same table; a test compares them.

/// How a client may set a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    /// To any value that fits.
    Any,
    /// To a model that the configuration names, or that is in `[server] models`.
    Model,
    /// To any value; but the configuration's value is not used for another URI.
    Login,
}

/// Factories, with their properties. Only the configuration may set all others: those that name a file, a library, a destination,
/// a device or a shared instance, that cost memory without a limit, or that hide people (`inferoverlay blur`).
const TABLE: [(&str, Grant, &[&str]); 14] = [
    ("classify", Grant::Any, &["threshold", "top-k"]),
    ("fusedpreproc", Grant::Any, &["classes", "min-size", "interval"]),
    (
        "gpunms",
        Grant::Any,
        &[
            "confidence",
            "iou",
            "class-confidence",
            "class-iou",
            "classes",
            "sigma",
            "top-k-after",
            "min-width",
            "min-height",
            "map-threshold",
            "unclip-ratio",
            "merge-threshold",
        ],
    ),
    ("identify", Grant::Any, &["threshold", "margin", "frames", "min-frames"]),
    (
        "inferoverlay",
        Grant::Any,
        &[
            "boxes",
            "labels",
            "confidences",
            "ids",
            "points",
            "skeleton",
            "masks",
            "zones",
            "mask-opacity",
            "classes",
            "min-confidence",
            "tracked-only",
            "trail-length",
            "arrows",
            "arrow-frames",
            "heatmap",
            "heatmap-decay",
            "heatmap-classes",
            "heatmap-opacity",
            "thickness",
            "text-scale",
        ],
    ),
    ("peakfind", Grant::Any, &["threshold", "min-line-score", "min-points", "min-score"]),
    ("segmask", Grant::Any, &["threshold", "min-area", "smoothing"]),
    ("tensormap", Grant::Any, &["range", "range-min", "range-max"]),
    (
        "tracker",
        Grant::Any,
        &[
            "class-aware",
            "min-confidence",
            "high-confidence",
            "new-confidence",
            "auto-confidence",
            "min-hits",
            "max-lost",
            "max-tracks",
            "iou",
            "iou-low",
            "momentum",
            "proximity",
            "appearance-distance",
            "publish-lost",
        ],
    ),
    ("trtinfer", Grant::Model, &["model"]),
    ("zonecount", Grant::Any, &["zones", "units", "anchor", "min-frames", "margin", "patience", "untracked"]),
    // The elements that read a source, whose properties are set by the key `source`.
    (
        "rtspsrc",
        Grant::Any,
        &[
            "latency",
            "drop-on-latency",
            "protocols",
            "timeout",
            "tcp-timeout",
            "udp-reconnect",
            "do-rtcp",
            "do-rtsp-keep-alive",
            "buffer-mode",
            "user-agent",
            "tls-validation-flags",
        ],
    ),
    ("souphttpsrc", Grant::Any, &["timeout", "retries", "user-agent", "ssl-strict", "is-live"]),
    ("videotestsrc", Grant::Any, &["pattern", "motion", "animation-mode", "flip", "horizontal-speed"]),
];

/// Properties with which an element logs in at a source.
const LOGINS: [(&str, &[&str]); 2] =
    [("rtspsrc", &["user-id", "user-pw"]), ("souphttpsrc", &["user-id", "user-pw"])];

/// How a client may set a property of elements of a factory; `None` if it may not.
pub(crate) fn grant(factory: &str, property: &str) -> Option<Grant> {
    let login = LOGINS.iter().find(|(name, properties)| *name == factory && properties.contains(&property));
    let row = TABLE.iter().find(|(name, _, properties)| *name == factory && properties.contains(&property));
    login.map(|_| Grant::Login).or_else(|| row.map(|(_, grant, _)| *grant))
}

/// Whether a property is a login, whose value must not be shown.
pub(crate) fn is_login(property: &str) -> bool {
    ["-id", "-pw", "password", "cookies", "headers"].iter().any(|ending| property.ends_with(ending))
}

/// All properties that clients may set, by factory.
#[cfg(test)]
pub(super) fn all() -> Vec<(&'static str, &'static str)> {
    let any = TABLE
        .iter()
        .flat_map(|(factory, _, properties)| properties.iter().map(|property| (*factory, *property)));
    any.chain(
        LOGINS
            .iter()
            .flat_map(|(factory, properties)| properties.iter().map(|property| (*factory, *property))),
    )
    .collect()
}
