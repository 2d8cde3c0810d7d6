//! inferpublish's properties.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use gst::glib;
use gst::glib::prelude::*;

use super::{DiskFull, Flush, Format, Leaky, RecordKinds, SecondPass};
use cudainfer_kernels::track::second_pass::{USUAL_FILL_GAP, USUAL_JOIN_GAP};

use crate::property::nick;
use crate::property::{About, Field, Table, Words, property};
use crate::publish::file::{FileOptions, Layout, Limits, STDOUT};
use crate::publish::{Details, Location, PassParams, PublishParams, Selection, Topic};
use crate::stats;

/// In ns.
const SECOND: u64 = 1_000_000_000;
/// How long `interval` and `track-patience` may be.
const HOUR: u64 = 3600 * SECOND;

#[derive(Clone)]
pub(super) struct Settings {
    pub location: Location,
    pub source: String,
    pub send: RecordKinds,
    pub format: Format,
    pub individuals: u32,
    pub topic: String,
    pub classes: String,
    pub min_confidence: f32,
    pub interval: u64,
    pub track_patience: u64,
    pub second_pass: SecondPass,
    pub fill_gap: u32,
    pub join_gap: u32,
    pub max_gathered: u32,
    pub append: bool,
    pub flush: Flush,
    pub max_size: u64,
    pub max_age: u64,
    pub max_files: u32,
    pub disk_full: DiskFull,
    pub stream_ids: bool,
    pub embeddings: bool,
    pub queue_size: u32,
    pub leaky: Leaky,
    pub spool: Option<PathBuf>,
    pub max_spool: u64,
    pub tls_ca: Option<PathBuf>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub credentials: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            location: Location::default(),
            source: String::new(),
            send: RecordKinds::FRAMES,
            format: Format::default(),
            individuals: 0,
            topic: String::new(),
            classes: String::new(),
            min_confidence: 0.0,
            interval: 0,
            track_patience: 3 * SECOND,
            second_pass: SecondPass::default(),
            fill_gap: USUAL_FILL_GAP,
            join_gap: USUAL_JOIN_GAP,
            max_gathered: 2_000_000,
            append: false,
            flush: Flush::default(),
            max_size: 0,
            max_age: 0,
            max_files: 0,
            disk_full: DiskFull::default(),
            stream_ids: false,
            embeddings: false,
            queue_size: 1000,
            leaky: Leaky::default(),
            spool: None,
            max_spool: 1 << 30,
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
            credentials: None,
        }
    }
}

impl Settings {
    /// What messages are made.
    ///
    /// # Errors
    /// Which property is wrong, and what it may be, without the element's name.
    pub fn params(&self) -> Result<PublishParams, String> {
        let of_frames = RecordKinds::FRAMES | RecordKinds::CHANGES;
        let Self { send, format, topic, .. } = self;
        if send.is_empty() {
            return Err("send names no kind of records. Set it to frames, events, tracks or changes, or to several of \
                        them, as in frames+events"
                .to_owned());
        }
        if *format != Format::Json && !of_frames.contains(*send) {
            let format = nick(*format);
            return Err(format!(
                "format={format} has no records of events and tracks. Set send=frames or send=changes, or format=json"
            ));
        }
        if format.is_for_files() && self.location.uri().is_some() {
            let (format, location) = (nick(*format), &self.location);
            return Err(format!(
                "format={format} is for files, and the location is '{location}'. Set location to the path of a file, or \
                 format=json"
            ));
        }
        if *format == Format::Coco && self.append {
            return Err("format=coco writes one array a file, which is not continued. Set append=false, or format=json".to_owned());
        }
        if format.program().is_some() {
            self.check_table()?;
        }
        self.check_second_pass()?;
        Ok(PublishParams {
            kinds: *send,
            format: *format,
            topic: Topic::parse(topic).map_err(|e| format!("topic '{topic}' {e}"))?,
            source: Some(self.source.clone()).filter(|source| !source.is_empty()),
            selection: Selection::new(&self.classes, self.min_confidence),
            interval: self.interval,
            patience: self.track_patience,
            second_pass: (self.second_pass != SecondPass::None).then_some(PassParams {
                of_tracks: *format != Format::Mot,
                join: self.second_pass == SecondPass::Join,
                fill_gap: self.fill_gap,
                join_gap: self.join_gap,
                max_gathered: usize::try_from(self.max_gathered).unwrap_or(usize::MAX),
            }),
        })
    }

    /// That the second pass has tracks to go over, and that gaps are not those that the user has asked for.
    fn check_second_pass(&self) -> Result<(), String> {
        if self.second_pass == SecondPass::None {
            return Ok(());
        }
        let pass = nick(self.second_pass);
        if self.format != Format::Mot && !self.send.contains(RecordKinds::TRACKS) {
            return Err(format!(
                "second-pass={pass} is for records of tracks and text of the MOTChallenge, and neither is written. Set send=tracks or \
                 format=mot, or remove second-pass"
            ));
        }
        let thinned = [("send=changes", self.send != RecordKinds::FRAMES), ("interval", self.interval > 0)];
        if self.format == Format::Mot
            && let Some((property, _)) = thinned.into_iter().find(|(_, is_set)| *is_set)
        {
            return Err(format!(
                "second-pass={pass} fills the frames that tracks are missing in, and {property} leaves frames out. Remove {property}, or \
                 second-pass"
            ));
        }
        Ok(())
    }

    /// What a table of points cannot be: continued, divided, thinned out by a full queue, or mixed with other records.
    fn check_table(&self) -> Result<(), String> {
        let leaky = !matches!(self.leaky.resolved(false), Leaky::No);
        let others = [
            ("append=true", self.append),
            ("max-size", self.max_size > 0),
            ("max-age", self.max_age > 0),
            ("leaky", leaky),
        ];
        let format = nick(self.format);
        if let Some((property, _)) = others.into_iter().find(|(_, is_set)| *is_set) {
            return Err(format!(
                "format={format} writes one table, with a header, of all frames, and {property} is set. Remove it, or set format=json"
            ));
        }
        if self.send != RecordKinds::FRAMES {
            return Err(format!("format={format} has rows of frames only. Set send=frames, or format=json"));
        }
        let path = self.location.path();
        if self.format == Format::Sleap && path.extension().is_some_and(|ending| ending == "json") {
            let path = path.display();
            return Err(format!(
                "'{path}' is the file beside the table, whose name ends with .csv. Set location to the name of the table"
            ));
        }
        if self.format == Format::LightningPose && self.individuals > 1 {
            let count = self.individuals;
            return Err(format!(
                "format={format} has columns for one animal, and individuals is {count}. Set individuals=1, or format=dlc"
            ));
        }
        Ok(())
    }

    /// How a file is written.
    pub fn file(&self) -> FileOptions {
        FileOptions {
            append: self.append,
            flush: self.flush,
            limits: Limits {
                size: self.max_size,
                age: Duration::from_nanos(self.max_age),
                files: self.max_files,
            },
            layout: if self.format == Format::Coco { Layout::Array } else { Layout::Lines },
            disk_full: self.disk_full,
        }
    }

    /// What may change while frames flow.
    pub fn details(&self) -> Details {
        Details { stream_ids: self.stream_ids, embeddings: self.embeddings }
    }
}

impl Words for SecondPass {}
impl Words for Leaky {}
impl Words for Format {}
impl Words for Flush {}
impl Words for DiskFull {}

impl Field for RecordKinds {
    type Range = ();

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        about.flags(*default)
    }

    fn get(&self) -> glib::Value {
        self.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        value.get().ok()
    }
}

/// All properties of the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(
            Settings,
            location,
            (),
            "Location",
            format!(
                "Path of the output file or FIFO, which is overwritten at each start; {STDOUT} is the standard output; or the \
                 URI of a broker: mqtt://HOST[:PORT]/TOPIC, nats:, redis:, kafka:, http:, https:, unix:PATH, and with TLS \
                 mqtts:, natss:, rediss:, kafkas:"
            ),
        ),
        property!(
            Settings,
            source,
            (),
            "Source",
            "Name of the camera, for the field \"source\" and for topic. If not set: the stream-id of the frames",
        ),
        property!(
            Settings,
            send,
            (),
            "Kinds of records",
            "Which records to write; several are joined by +, as in frames+events",
        ),
        property!(Settings, format, (), "Format", "How to write frames; events and tracks are always JSON"),
        property!(
            Settings,
            individuals,
            0..=1000,
            "Individuals",
            "With format=dlc: number of individuals that have columns, of which an identity has those of its number. 0: max-tracks \
             of the tracker upstream, or 1",
        ),
        property!(
            Settings,
            topic,
            (),
            "Topic",
            "Topic of messages to a broker, as in cams/{source}/{kind}; {source}, {kind} (frames, events, tracks or changes) and \
             {stream} (the stream-id) are replaced. If not set: that of the location",
        ),
        property!(
            Settings,
            classes,
            (),
            "Classes",
            "Labels or numbers of the classes whose objects to write, separated by commas; all if not set",
        ),
        property!(
            Settings,
            min_confidence,
            0.0..=1.0,
            "Minimum confidence",
            "Minimum confidence of the objects to write, and of the best detection of a track",
        ),
        property!(
            Settings,
            interval,
            0..=HOUR,
            "Interval",
            "With send=frames: nanoseconds of the stream in which one frame has a record, the first; 0 for all frames",
        ),
        property!(
            Settings,
            track_patience,
            0..=HOUR,
            "Patience with tracks",
            "With send=tracks: nanoseconds after which a track that is in no frame has ended. Set it longer than tracker remembers \
             lost objects, or a track may have two records",
        ),
        property!(
            Settings,
            second_pass,
            (),
            "Second pass",
            "For files, with send=tracks or format=mot: what to do when all of a stream is known. Nothing is written before",
        ),
        property!(
            Settings,
            fill_gap,
            0..=10_000,
            "Longest gap to fill",
            "With second-pass: number of frames that a gap may have to be filled",
        ),
        property!(
            Settings,
            join_gap,
            0..=10_000,
            "Longest gap to join over",
            "With second-pass=join: number of frames that may lie between two tracks that are joined",
        ),
        property!(
            Settings,
            max_gathered,
            16..=u32::MAX,
            "Maximum number of gathered boxes",
            "With second-pass: boxes to gather, of all streams together, at about 200 bytes each while they are written. When there are \
             as many, the pass is made over what there is, and a warning is posted",
        ),
        property!(
            Settings,
            append,
            (),
            "Append",
            "Append to what is in the file, which is otherwise overwritten at each start",
        ),
        property!(Settings, flush, (), "Flush", "When to write records to the file"),
        property!(
            Settings,
            max_size,
            0..=u64::MAX,
            "Maximum size",
            "Bytes after which a file gets a number, as in out.000001.jsonl, and another one is begun; 0 is unlimited",
        ),
        property!(
            Settings,
            max_age,
            0..=u64::MAX,
            "Maximum age",
            "Nanoseconds after which a file gets a number and another one is begun; 0 is unlimited",
        ),
        property!(
            Settings,
            max_files,
            0..=1_000_000,
            "Maximum number of files",
            "Numbered files to keep, of which the oldest are removed; 0 keeps all",
        ),
        property!(Settings, disk_full, (), "Disk full", "What happens to records when the disk is full"),
        property!(
            Settings,
            stream_ids,
            (),
            "Stream IDs",
            "Write the stream-id of each frame as the field \"stream\", to distinguish the streams of a funnel",
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
            "Maximum number of records that wait to be written. Of long ones fewer wait, which take 64 MiB together",
        ),
        property!(Settings, leaky, (), "Leaky", "Which record to drop when queue-size is reached"),
        property!(
            Settings,
            spool,
            (),
            "Spool",
            "Folder on the disk in which messages wait until the broker has acknowledged them, also across restarts",
        ),
        property!(
            Settings,
            max_spool,
            65_536..=u64::MAX,
            "Max spool",
            "Maximum size of the spool in bytes; what it has no room for waits in the queue",
        ),
        property!(
            Settings,
            tls_ca,
            (),
            "TLS CA",
            "File with the certificates, as PEM, of the authorities that the broker's certificate may be from, instead of the \
             system's",
        ),
        property!(Settings, tls_cert, (), "TLS certificate", "File with the client's certificate, as PEM"),
        property!(Settings, tls_key, (), "TLS key", "File with the key of the client's certificate, as PEM"),
        property!(
            Settings,
            credentials,
            (),
            "Credentials",
            "File with the user for the broker on its first line and the password on its second; without it, those in the \
             environment variables CUDAINFER_PUBLISH_USER and CUDAINFER_PUBLISH_PASSWORD",
        ),
    ])
    .with([stats::param_spec(
        "; records (that were made), objects (in the records of frames), frames-missing (that were lost before they came here, as their times show in a stream of a constant rate), left-out (instances for which a table of points has no place), of second-pass: joined (tracks that were joined to others), \
         interpolated (boxes that were filled in), early-passes (because of max-gathered); streams-forgotten (whose tracks were ended because more than \
         256 others had their turn since), written (records that the destination, or the spool, has \
         accepted), failed (records that could not be written), dropped (records that were dropped because of queue-size), waiting \
         (records that wait in the queue, or in the spool for the broker); of a file: torn (lines that had been cut off, after which records were appended), rotated (files that were full or too \
         old); of a broker: spooled (messages written to the spool), sent (those sent again included), acknowledged, refused \
         (messages that the broker never takes, which are dropped), reconnects, damaged (messages lost because the spool was damaged)",
    )])
});
