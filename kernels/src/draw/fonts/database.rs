//! The available fonts.

use std::sync::{Arc, OnceLock};

use cosmic_text::fontdb::{Database, Family, ID, Query, Source};

use super::{FontChoice, FontError};

/// Families that take the place of a generic one for which fontconfig names a font that is not installed.
const SERIF: [&str; 4] = ["DejaVu Serif", "Noto Serif", "Liberation Serif", "FreeSerif"];
const SANS_SERIF: [&str; 4] = ["DejaVu Sans", "Noto Sans", "Liberation Sans", "FreeSans"];
const MONOSPACE: [&str; 4] = ["DejaVu Sans Mono", "Noto Sans Mono", "Liberation Mono", "FreeMono"];
/// The most families that an error names.
const NAMED: usize = 5;

/// All fonts of the system: those of fontconfig's configuration, else those of the usual folders. Looked up once a process.
fn system() -> &'static Database {
    static SYSTEM: OnceLock<Database> = OnceLock::new();
    SYSTEM.get_or_init(|| {
        let mut database = Database::new();
        database.load_system_fonts();
        database
    })
}

/// What fontconfig calls a generic family, for which each system has a font of its own.
fn generic(name: &str) -> Option<Family<'static>> {
    match name.to_lowercase().as_str() {
        "serif" => Some(Family::Serif),
        "sans" | "sans-serif" | "sans serif" => Some(Family::SansSerif),
        "mono" | "monospace" => Some(Family::Monospace),
        _ => None,
    }
}

/// All fonts to choose from, and the one that comes first.
///
/// # Errors
/// The chosen font is not available.
pub(super) fn open(choice: FontChoice) -> Result<(Database, ID), FontError> {
    let mut database = system().clone();
    let find = |database: &Database, families: &[Family<'_>]| {
        database.query(&Query { families, ..Query::default() })
    };
    let any_of = |database: &Database, generic: Family<'_>| {
        let alike = match generic {
            Family::Serif => SERIF,
            Family::Monospace => MONOSPACE,
            _ => SANS_SERIF,
        };
        let named = alike.iter().chain(&SANS_SERIF).map(|name| Family::Name(name));
        let families: Vec<_> = std::iter::once(generic).chain(named).collect();
        let any = || database.faces().next().map(|face| face.id);
        find(database, &families).or_else(any).ok_or(FontError::None)
    };
    let first = match choice {
        FontChoice::System => any_of(&database, Family::SansSerif)?,
        FontChoice::Family(family) => {
            // The database's spelling, because queries are case-sensitive.
            let names = || database.faces().flat_map(|face| face.families.iter().map(|(name, _)| name));
            let spelt = names().find(|name| name.to_lowercase() == family.to_lowercase()).cloned();
            let found = spelt.and_then(|name| find(&database, &[Family::Name(&name)]));
            let found = found.or_else(|| any_of(&database, generic(&family)?).ok());
            found.ok_or_else(|| {
                let mut all: Vec<_> = names().cloned().collect();
                all.sort();
                all.dedup();
                let some =
                    all.iter().take(NAMED).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
                if all.is_empty() { FontError::None } else { FontError::Family { families: all.len(), some } }
            })?
        }
        FontChoice::File(bytes) => {
            let ids = database.load_font_source(Source::Binary(Arc::new(bytes)));
            *ids.first().ok_or(FontError::File)?
        }
    };
    Ok((database, first))
}
