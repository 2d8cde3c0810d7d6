//! Sections that have tables in them, named after outputs or by whoever writes them.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use crate::mistakes;

/// The keys of a section, and the tables in it.
pub(super) fn split<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(T, toml::Table), D::Error> {
    let section = toml::Table::deserialize(deserializer)?;
    let (tables, keys): (toml::Table, toml::Table) =
        section.into_iter().partition(|(_, value)| value.is_table());
    Ok((toml::Value::Table(keys).try_into().map_err(D::Error::custom)?, tables))
}

/// A table of a section; the error says which one it is.
pub(super) fn read<T: DeserializeOwned, E: Error>(
    section: &str,
    name: &str,
    table: toml::Value,
) -> Result<T, E> {
    let wrong =
        |e: toml::de::Error| E::custom(format!("in {section}.{name}: {}", mistakes::sentence(e.message())));
    table.try_into().map_err(wrong)
}
