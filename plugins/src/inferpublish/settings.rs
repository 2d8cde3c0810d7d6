//! inferpublish's properties.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::Leaky;
use crate::property::{Table, Words, property};
use crate::publish::sink::STDOUT;
use crate::stats;

#[derive(Clone)]
pub(super) struct Settings {
    pub location: PathBuf,
    pub stream_ids: bool,
    pub embeddings: bool,
    pub queue_size: u32,
    pub leaky: Leaky,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            location: STDOUT.into(),
            stream_ids: false,
            embeddings: false,
            queue_size: 1000,
            leaky: Leaky::default(),
        }
    }
}

impl Words for Leaky {}

/// All properties of the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(
            Settings,
            location,
            (),
            "Location",
            format!("Path of the output file or FIFO, which is overwritten at each start; {STDOUT} is the standard output"),
        ),
        property!(
            Settings,
            stream_ids,
            (),
            "Stream IDs",
            "Write the stream-id of each frame as the field \"stream\", to tell streams behind a funnel apart",
        )
        .playing(),
        property!(
            Settings,
            embeddings,
            (),
            "Embeddings",
            "Write the embeddings of objects, which are long, as the field \"embeddings\"",
        )
        .playing(),
        property!(
            Settings,
            queue_size,
            1..=1_000_000,
            "Queue size",
            "Maximum number of records that wait to be written",
        ),
        property!(Settings, leaky, (), "Leaky", "Which record to drop when queue-size is reached"),
    ])
    .with([stats::param_spec(
        "; objects (in the records), written (records that the destination has accepted), failed (records that could not be \
         written), dropped (records that were dropped because of queue-size)",
    )])
});
