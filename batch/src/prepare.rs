//! Everything that is checked before the first video runs.

use std::path::Path;

use cudainfer_launch::{elements, gstreamer};
use gst::prelude::*;

use crate::arguments::Arguments;
use crate::content::no_video;
use crate::exit::Exit;
use crate::folder::ResultFolder;
use crate::loaded::Loaded;
use crate::pipeline::Built;
use crate::plan::Plan;
use crate::share::Share;
use crate::videos::{Video, missing, videos};

/// What was found to be right.
#[derive(Debug)]
pub struct Prepared {
    /// What is done with each video.
    pub plan: Plan,
    /// The videos of this share.
    pub videos: Vec<Video>,
    /// Which share it is.
    pub share: Share,
    /// The models.
    pub loaded: Loaded,
}

/// Checks everything and loads the models. Nothing is written. With `thorough`, videos that are missing, or are no
/// videos, are faults, too.
///
/// # Errors
/// How the program must end, and all that is wrong.
pub fn prepare(arguments: &Arguments, thorough: bool) -> Result<Prepared, (Exit, Vec<String>)> {
    let mut wrong = Vec::new();
    let share = Share::of(arguments.index, arguments.of, |name| std::env::var(name).ok());
    let share = share.map_err(|sentence| wrong.push(sentence)).ok();
    let all = videos(&arguments.inputs).map_err(|sentences| wrong.extend(sentences)).ok();
    let own = all.zip(share).map(|(all, share)| share.take(all));
    if thorough {
        wrong.extend(own.iter().flatten().filter_map(missing));
    }
    let plan = Plan::new(arguments).map_err(|sentence| wrong.push(sentence)).ok();
    if let Some(plan) = &plan {
        let checked = ResultFolder::check(&arguments.out, &plan.configuration, arguments.overwrite);
        wrong.extend(checked.err());
    }
    // Before any thread is started, because it may set a variable of the environment.
    if let Err(sentence) = gstreamer::init(None) {
        wrong.push(sentence);
        return Err((Exit::Configuration, wrong));
    }
    let (Some(plan), Some(videos), Some(share)) = (plan, own, share) else {
        return Err((Exit::Configuration, wrong));
    };
    let loaded = match load(&plan, &videos) {
        Ok(loaded) => loaded,
        Err((exit, sentence)) => {
            wrong.push(sentence);
            let exit = if wrong.len() > 1 { Exit::Configuration } else { exit };
            return Err((exit, wrong));
        }
    };
    if thorough && loaded.finds_types() {
        wrong.extend(videos.iter().filter_map(no_video));
    }
    if wrong.is_empty() {
        Ok(Prepared { plan, videos, share, loaded })
    } else {
        Err((Exit::Configuration, wrong))
    }
}

fn load(plan: &Plan, videos: &[Video]) -> Result<Loaded, (Exit, String)> {
    let anyone = Video { name: "video".into(), location: "/nowhere/video".into() };
    let first = videos.first().unwrap_or(&anyone);
    let wrong = |sentence| (Exit::Configuration, sentence);
    let built =
        Built::new(&plan.words(first, Path::new("/nowhere")), &plan.overrides, &first.name).map_err(wrong)?;
    if let Some(video) = videos.iter().find(|video| video.is_uri()) {
        let files = elements::of_factory(built.pipeline.upcast_ref(), "filesrc");
        let first = first.location.clone();
        if files.iter().any(|source| source.property::<Option<String>>("location") == Some(first.clone())) {
            let sentence = format!(
                "'{}' is a URI, and filesrc reads files: use a pipeline with uridecodebin uri={{video}}",
                video.shown()
            );
            return Err(wrong(sentence));
        }
    }
    Loaded::new(built)
}
