//! The property `location`: a file or a URI.

use std::fmt;
use std::path::{Path, PathBuf};

use gst::glib;
use gst::prelude::*;

use super::file::STDOUT;
use crate::property::{About, Field};
use crate::strings;

/// Where records go. A user and password in a URI are taken out before anybody can read them, in the property, a dot file or a
/// message; the element refuses to start with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    path: PathBuf,
    had_login: bool,
}

impl Default for Location {
    fn default() -> Self {
        Self { path: STDOUT.into(), had_login: false }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        let hidden = path.to_str().and_then(cudainfer_brokers::without_login);
        Self { had_login: hidden.is_some(), path: hidden.map_or(path, PathBuf::from) }
    }
}

impl Location {
    /// The URI, if it is one.
    pub fn uri(&self) -> Option<&str> {
        self.path.to_str().filter(|text| cudainfer_brokers::is_uri(text))
    }

    /// The file, if it is none.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a user and password have been taken out.
    pub fn had_login(&self) -> bool {
        self.had_login
    }
}

/// For messages, without what may be a webhook's secret.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uri() {
            Some(uri) => f.write_str(uri.split('?').next().unwrap_or_default()),
            None => self.path.display().fmt(f),
        }
    }
}

impl Field for Location {
    type Range = ();

    const ANY_BYTES: bool = true;

    fn spec(about: &About<'_>, (): &(), default: &Self) -> glib::ParamSpec {
        PathBuf::spec(about, &(), &default.path)
    }

    fn get(&self) -> glib::Value {
        self.path.to_value()
    }

    fn read(value: &glib::Value) -> Option<Self> {
        strings::path(value).map(Self::from)
    }
}
