//! The videos of the arguments and of manifests, each with the name of its results.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that a manifest may have: some million lines.
const LARGEST_MANIFEST: u64 = 1 << 30;

/// A video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// What the names of its results begin with.
    pub name: String,
    /// Its file's absolute path, or its URI.
    pub location: String,
}

impl Video {
    /// Whether it is a URI, which cannot be looked at before.
    pub fn is_uri(&self) -> bool {
        is_uri(&self.location)
    }

    /// Its path, or its URI without user and query.
    pub fn shown(&self) -> String {
        let Some((scheme, rest)) = self.location.split_once("://").filter(|_| self.is_uri()) else {
            return self.location.clone();
        };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or_default())
    }

    fn new(location: &str, folder: &Path, name: Option<&str>) -> Result<Self, String> {
        let location = if is_uri(location) {
            location.to_owned()
        } else {
            let path =
                std::path::absolute(folder.join(location)).map_err(|e| format!("'{location}': {e}"))?;
            path.into_os_string().into_string().map_err(|path| format!("the name {path:?} is not UTF-8"))?
        };
        let path = location.split(['?', '#']).next().filter(|_| is_uri(&location)).unwrap_or(&location);
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let name = name.unwrap_or(stem).to_owned();
        // Hidden files are the program's own, and a longer name leaves no room for endings.
        if name.is_empty() || name.starts_with('.') || name.len() > 200 || name.contains(['/', '\0']) {
            return Err(format!(
                "'{name}' cannot be the name of results of '{location}': expected 1 to 200 bytes without / or a . at the begin. \
                 Write a name after the video and a tab in a manifest"
            ));
        }
        Ok(Self { name, location })
    }
}

fn is_uri(location: &str) -> bool {
    let scheme = location.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// All videos, in their order. Whether they are there is not looked at: see [`missing`].
///
/// # Errors
/// A sentence for each fault.
pub fn videos(inputs: &[String]) -> Result<Vec<Video>, Vec<String>> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for input in inputs {
        if input == "-" || is_manifest(input) {
            match manifest(input) {
                Ok(lines) => lines.into_iter().for_each(|line| match line {
                    Ok(video) => found.push(video),
                    Err(sentence) => wrong.push(sentence),
                }),
                Err(sentence) => wrong.push(sentence),
            }
        } else {
            match Video::new(input, Path::new(""), None) {
                Ok(video) => found.push(video),
                Err(sentence) => wrong.push(sentence),
            }
        }
    }
    wrong.extend(duplicates(&found));
    if found.is_empty() && wrong.is_empty() {
        wrong.push("there are no videos: the manifest is empty".into());
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

fn is_manifest(input: &str) -> bool {
    let ending = Path::new(input).extension().and_then(|ending| ending.to_str());
    !is_uri(input)
        && ending.is_some_and(|ending| ["txt", "tsv"].contains(&ending.to_ascii_lowercase().as_str()))
}

/// The lines of a manifest. Its paths are relative to its folder; empty lines and those that begin with `#` are left out.
fn manifest(input: &str) -> Result<Vec<Result<Video, String>>, String> {
    let mut text = String::new();
    let read = if input == "-" {
        std::io::stdin().lock().take(LARGEST_MANIFEST).read_to_string(&mut text)
    } else {
        cudainfer_files::open(Path::new(input))
            .and_then(|file| file.take(LARGEST_MANIFEST).read_to_string(&mut text))
    };
    read.map_err(|e| format!("the manifest '{input}' cannot be read: {e}"))?;
    let folder = if input == "-" { PathBuf::new() } else { Path::new(input).with_file_name("") };
    let lines = text.trim_start_matches('\u{feff}').lines().map(|line| line.trim_end_matches('\r'));
    let kept = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    Ok(kept
        .map(|line| match line.split_once('\t') {
            Some((location, name)) => Video::new(location, &folder, Some(name.trim())),
            None => Video::new(line, &folder, None),
        })
        .collect())
}

/// Why a file cannot be a video: it is missing, or a folder.
pub fn missing(video: &Video) -> Option<String> {
    if video.is_uri() {
        return None;
    }
    match std::fs::metadata(&video.location) {
        Ok(found) if found.is_file() => None,
        Ok(found) if found.is_dir() => {
            Some(format!("'{0}' is a folder: name its videos, as in {0}/*.mp4", video.location))
        }
        Ok(_) => Some(format!("'{}' is no regular file", video.location)),
        Err(e) => Some(format!("the video '{}' cannot be read: {e}", video.location)),
    }
}

fn duplicates(videos: &[Video]) -> Vec<String> {
    let mut first: BTreeMap<&str, &Video> = BTreeMap::new();
    let mut wrong = Vec::new();
    for video in videos {
        match first.get(video.name.as_str()) {
            Some(other) if other.location == video.location => {
                wrong.push(format!("the video '{}' is there twice: remove one", video.location));
            }
            Some(other) => wrong.push(format!(
                "'{}' and '{}' would write the same results '{}': give one of them another name, after a tab in a manifest",
                other.location, video.location, video.name
            )),
            None => drop(first.insert(&video.name, video)),
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn videos_are_named_after_their_files_or_by_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        for name in ["a.b.mp4", "c.mkv", "d e.avi"] {
            std::fs::write(path(name), "x").unwrap();
        }
        let list = path("list.txt");
        std::fs::write(&list, "\u{feff}# all\n\na.b.mp4\r\nc.mkv\tother\nhttps://host/x/y.mp4?key=a/b\n")
            .unwrap();
        let found = videos(&[list, path("d e.avi")]).unwrap();
        let names: Vec<&str> = found.iter().map(|video| video.name.as_str()).collect();
        assert_eq!(names, ["a.b", "other", "y", "d e"]);
        assert_eq!(found[0].location, path("a.b.mp4"));
        assert_eq!(found[2].location, "https://host/x/y.mp4?key=a/b");
        let secret = Video { location: "s3://user:pass@host/y.mp4?key=a".into(), ..found[2].clone() };
        assert_eq!((secret.shown(), found[0].shown()), ("s3://host/y.mp4".into(), path("a.b.mp4")));
    }

    #[test]
    fn every_fault_of_a_manifest_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::create_dir(path("sub")).unwrap();
        for name in ["a.mp4", "a.avi", "sub/a.mp4"] {
            std::fs::write(path(name), "x").unwrap();
        }
        let list = path("list.tsv");
        std::fs::write(&list, "a.mp4\na.mp4\na.avi\nnone.mp4\nsub\nsub/a.mp4\tb/c\n").unwrap();
        let wrong = videos(std::slice::from_ref(&list)).unwrap_err();
        for part in ["is there twice", "would write the same results 'a'", "'b/c' cannot be"] {
            assert_eq!(wrong.iter().filter(|text| text.contains(part)).count(), 1, "{part}: {wrong:#?}");
        }
        assert_eq!(wrong.len(), 3);
        std::fs::write(&list, "a.mp4\nnone.mp4\nsub\n").unwrap();
        let found = videos(&[list]).unwrap();
        let wrong: Vec<String> = found.iter().filter_map(missing).collect();
        assert!(
            wrong[0].contains("none.mp4' cannot be read") && wrong[1].contains("is a folder"),
            "{wrong:?}"
        );
        assert_eq!(wrong.len(), 2);
        let empty = path("empty.txt");
        std::fs::write(&empty, "# nothing\n").unwrap();
        assert!(videos(&[empty]).unwrap_err()[0].contains("no videos"));
        assert!(videos(&[path("nowhere.txt")]).unwrap_err()[0].contains("the manifest"));
    }
}
