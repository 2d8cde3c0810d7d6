//! Where messages go, and how, as the user says it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::client::{Access, Alone};
use crate::counts::Counts;
use crate::credentials::{Credentials, CredentialsError};
use crate::kind::BrokerKind;
use crate::outbox::Sink;
use crate::report::{Report, Reporter};
use crate::sender::Sender;
use crate::spool::{Spool, SpoolError};
use crate::spooled::Spooled;
use crate::tls::{TlsError, TlsFiles};
use crate::uri::{Destination, UriError, encrypted_schemes};

/// Where to, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The URI.
    pub location: String,
    /// Certificates.
    pub tls: TlsFiles,
    /// The file with user and password.
    pub credentials: Option<PathBuf>,
    /// The spool's folder and its limit in bytes; without it messages wait in memory.
    pub spool: Option<(PathBuf, u64)>,
}

/// A webhook that gets each message by itself.
#[derive(Clone)]
pub struct Webhook {
    /// Its URL.
    pub url: String,
    /// Authorities that are trusted instead of the system's, PEM.
    pub ca: Option<PathBuf>,
    /// What is sent as `Authorization: Bearer`.
    pub token: Option<String>,
    /// The spool's folder and its limit in bytes; without it messages wait in memory.
    pub spool: Option<(PathBuf, u64)>,
}

/// Why messages cannot be delivered, before anything has been tried. Each is a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SetupError {
    #[error(transparent)]
    Uri(#[from] UriError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("'{0}' takes no user and password: its kind has no login. Unset credentials")]
    NoLogin(String),
    #[error(
        "'{0}' says how to log in, but there are no user and password. Set credentials, or leave sasl out"
    )]
    NoCredentials(String),
    #[error("'{0}' is no webhook. Write a URL with http or https")]
    NoWebhook(String),
    #[error(transparent)]
    Spool(#[from] SpoolError),
    #[error("there is no thread for the delivery: {0}")]
    Thread(io::Error),
}

/// Checks the options, and opens the spool if there is one. What is written to the returned sink is brought to the broker in order,
/// each message at least once; it accepts what the broker has acknowledged, or what the spool has stored.
///
/// Dropping a sink with a spool lets the broker take what is in it for some seconds, unless it could not be reached when it was
/// last tried, and gives the spool back.
///
/// # Errors
/// What is wrong with the options.
pub fn broker(
    options: &Options,
    counts: &Arc<Counts>,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> Result<Box<dyn Sink>, SetupError> {
    deliver(access(options)?, options.spool.as_ref(), counts, report)
}

/// The same for a webhook that gets each message by itself: the body of a request is the message's payload. Messages name it without its
/// path, which may be a secret.
///
/// # Errors
/// What is wrong with the options.
pub fn webhook(
    options: &Webhook,
    counts: &Arc<Counts>,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> Result<Box<dyn Sink>, SetupError> {
    let destination = Destination::parse(&options.url)?;
    if destination.kind != BrokerKind::Http {
        return Err(SetupError::NoWebhook(destination.to_string()));
    }
    let files = TlsFiles { ca: options.ca.clone(), ..TlsFiles::default() };
    let tls = destination.tls.then(|| files.read()).transpose()?;
    let alone = Some(Alone { token: options.token.clone() });
    let destination = Arc::new(destination.shown_by_host());
    let access =
        Access { destination, tls, credentials: None, alone, name: String::new(), stored: Arc::default() };
    deliver(access, options.spool.as_ref(), counts, report)
}

fn deliver(
    access: Access,
    spool: Option<&(PathBuf, u64)>,
    counts: &Arc<Counts>,
    report: impl Fn(Report) + Send + Sync + 'static,
) -> Result<Box<dyn Sink>, SetupError> {
    let report: Reporter = Arc::new(report);
    let sender = Sender::new(access, Box::new(Access::connect), counts, &report);
    let Some((folder, most_bytes)) = spool else { return Ok(Box::new(sender)) };
    let spool = Spool::open(folder, *most_bytes)?;
    Ok(Box::new(Spooled::start(spool, sender, counts, &report).map_err(SetupError::Thread)?))
}

fn access(options: &Options) -> Result<Access, SetupError> {
    let destination = Destination::parse(&options.location)?;
    let tls = match (destination.tls, options.tls.set()) {
        (true, _) => Some(options.tls.read()?),
        (false, None) => None,
        (false, Some(property)) => {
            return Err(TlsError::Plain(property, destination.to_string(), encrypted_schemes()).into());
        }
    };
    let has_login = destination.kind.has_login();
    if !has_login && options.credentials.is_some() {
        return Err(SetupError::NoLogin(destination.to_string()));
    }
    let credentials = if has_login { Credentials::find(options.credentials.as_deref())? } else { None };
    if destination.sasl.is_some() && credentials.is_none() {
        return Err(SetupError::NoCredentials(destination.to_string()));
    }
    // MQTT 3.1.1 promises 23 letters and digits.
    let name =
        format!("cudainfer{}", std::iter::repeat_with(fastrand::alphanumeric).take(14).collect::<String>());
    Ok(Access {
        destination: Arc::new(destination),
        tls,
        credentials,
        alone: None,
        name,
        stored: Arc::default(),
    })
}
