//! Opens what `location` names, with the outbox that leads to it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use cudainfer_brokers::{
    Capacity, Counts, Destination, Options, Outbox, Report, SetupError, Sink, TlsFiles, UriError, broker,
};
use gst::glib;
use gst::prelude::*;

use super::settings::Settings;
use crate::notice::Remark;
use crate::publish::file::{FileCounts, FileSink};

/// Starts the outbox of `element`; failures later on are posted as its messages.
///
/// # Errors
/// Why the destination cannot be opened, as the element says it.
pub(super) fn open(
    element: &super::InferPublish,
    settings: &Settings,
    patience: Duration,
    (counts, files): (&Arc<Counts>, &Arc<FileCounts>),
) -> Result<Outbox, gst::ErrorMessage> {
    let location = settings.location.to_string();
    let sink: Box<dyn Sink> = match settings.location.uri() {
        Some(uri) => to_broker(element, settings, uri, counts)
            .map_err(|e| gst::error_msg!(gst::ResourceError::Settings, ("{}: {e}", element.name())))?,
        None => {
            if let Some(property) = of_brokers(settings) {
                gst::element_warning!(
                    element,
                    gst::ResourceError::Settings,
                    (
                        "{}: {property} has no effect, because '{location}' is a file. Set location to the URI of a broker",
                        element.name()
                    )
                );
            }
            let weak = element.downgrade();
            let warn = Box::new(move |text: &str| {
                let Some(element) = weak.upgrade() else { return };
                gst::element_warning!(element, gst::ResourceError::Write, ("{}: {text}", element.name()));
            });
            Box::new(FileSink::new(settings.location.path(), settings.file(), files, warn))
        }
    };
    let capacity = Capacity {
        messages: usize::try_from(settings.queue_size).unwrap_or(usize::MAX),
        when_full: settings.leaky.resolved(settings.location.uri().is_some()).into(),
    };
    let weak = element.downgrade();
    let said = location.clone();
    let outbox = Outbox::start(sink, capacity, patience, counts, move |e| fail(&weak, &said, &e));
    outbox.map_err(|e| {
        gst::error_msg!(
            gst::ResourceError::OpenWrite,
            (
                "{}: '{location}' cannot be written: {e}. Set location to a file in a folder that exists and can be written, to a \
                 FIFO, or to - for the standard output",
                element.name(),
            )
        )
    })
}

fn fail(element: &glib::WeakRef<super::InferPublish>, location: &str, error: &io::Error) {
    let Some(element) = element.upgrade() else { return };
    gst::element_error!(
        element,
        gst::ResourceError::Write,
        (
            "{}: '{location}' cannot be written: {error}. The property stats counts the frames whose record is lost as failed",
            element.name()
        )
    );
}

/// Whether a location that is a URI can be one of a broker, as far as that is known without opening anything.
///
/// # Errors
/// What is wrong with it, or with the topic there.
pub(super) fn check(settings: &Settings) -> Result<(), UriError> {
    let Some(uri) = settings.location.uri() else { return Ok(()) };
    if settings.location.had_login() {
        return Err(UriError::Login);
    }
    // What takes the place of a placeholder is not known yet; a topic that it spoils is counted as refused.
    Destination::parse(uri)?.check_topic(&settings.topic.replace(['{', '}'], ""))
}

fn to_broker(
    element: &super::InferPublish,
    settings: &Settings,
    uri: &str,
    counts: &Arc<Counts>,
) -> Result<Box<dyn Sink>, SetupError> {
    check(settings)?;
    let options = Options {
        location: uri.to_owned(),
        tls: TlsFiles {
            ca: settings.tls_ca.clone(),
            cert: settings.tls_cert.clone(),
            key: settings.tls_key.clone(),
        },
        credentials: settings.credentials.clone(),
        spool: settings.spool.clone().map(|folder| (folder, settings.max_spool)),
    };
    let weak = element.downgrade();
    broker(&options, counts, move |report| {
        let Some(element) = weak.upgrade() else { return };
        let remark = match report {
            Report::Info(text) => Remark::Info(text),
            Report::Warning(text) => Remark::Warning(text),
        };
        remark.post(element.upcast_ref(), gst::ResourceError::Write);
    })
}

/// The property that is set and that only brokers know.
fn of_brokers(settings: &Settings) -> Option<&'static str> {
    let Settings { spool, tls_ca, tls_cert, tls_key, credentials, .. } = settings;
    let files = [
        ("spool", spool),
        ("tls-ca", tls_ca),
        ("tls-cert", tls_cert),
        ("tls-key", tls_key),
        ("credentials", credentials),
    ];
    files.into_iter().find_map(|(name, file)| file.as_ref().and(Some(name)))
}
