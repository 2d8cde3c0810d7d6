//! `cudainfer-batch`: arguments, signals and exit codes.

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cudainfer_batch::arguments::{Arguments, USAGE};
use cudainfer_batch::batch;
use cudainfer_batch::exit::Exit;
use cudainfer_batch::folder::ResultFolder;
use cudainfer_batch::prepare::{Prepared, prepare};
use cudainfer_batch::progress::Display;
use cudainfer_batch::run::Terms;
use cudainfer_batch::work::Common;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The most file descriptors to which the limit is raised: pipelines take some 30 each.
const DESCRIPTORS: u64 = 65_536;

fn main() {
    let words: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    let exit = match words {
        Ok(words) => command(words),
        Err(word) => wrong(&[format!("the argument {word:?} is not UTF-8")]),
    };
    // Threads of pipelines that do not stop would keep the process.
    std::process::exit(exit.code().into())
}

fn command(words: Vec<String>) -> Exit {
    match words.first().map(String::as_str) {
        _ if words.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") => {
            print!("{USAGE}");
            Exit::Done
        }
        Some("--version" | "-V") => {
            println!("cudainfer-batch {}", env!("CARGO_PKG_VERSION"));
            Exit::Done
        }
        Some("run") => match Arguments::read(words.into_iter().skip(1)) {
            Ok(arguments) => run(&arguments),
            Err(sentence) => wrong(&[sentence]),
        },
        Some(other) => {
            wrong(&[format!("there is no command '{other}': write cudainfer-batch run, or --help")])
        }
        None => {
            eprint!("{USAGE}");
            Exit::Configuration
        }
    }
}

/// Reports each sentence.
fn wrong(sentences: &[String]) -> Exit {
    let display = Display::new();
    sentences.iter().for_each(|sentence| display.line(sentence));
    Exit::Configuration
}

fn run(arguments: &Arguments) -> Exit {
    let asked = Arc::new(AtomicBool::new(false));
    if let Err(e) = hear_signals(&asked) {
        wrong(&[format!("signals cannot be received: {e}")]);
        return Exit::Sick;
    }
    let Prepared { plan, videos, share, loaded } = match prepare(arguments, arguments.check) {
        Ok(prepared) => prepared,
        Err((exit, sentences)) => {
            wrong(&sentences);
            return exit;
        }
    };
    let mut display = Display::new();
    let providers = loaded.providers();
    if arguments.check {
        println!("right (videos: {}, share {} of {})", videos.len(), share.index, share.of);
        providers.iter().for_each(|provider| println!("{provider}"));
        return Exit::Done;
    }
    let results = match ResultFolder::open(&arguments.out, &plan.configuration, arguments.overwrite) {
        Ok(results) => results,
        Err(sentence) => return wrong(&[sentence]),
    };
    raise_limit();
    providers.iter().for_each(|provider| display.line(provider));
    let jobs = arguments.jobs.min(videos.len()).max(1);
    display.line(&format!(
        "share {} of {}: {} videos, {jobs} at a time",
        share.index,
        share.of,
        videos.len()
    ));
    let common = Common { plan, results, retry: arguments.retry, terms: Terms::new(arguments.stall) };
    let exit = batch::run(common, videos, jobs, &asked, &mut display);
    drop(loaded);
    exit
}

/// Raises the limit on file descriptors as far as that is allowed and useful.
fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS));
    if current.is_some_and(|current| current < wanted) {
        // Without it, pipelines report what is missing.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

/// Sets `asked` at the first signal, and ends the process at the second one.
fn hear_signals(asked: &Arc<AtomicBool>) -> std::io::Result<()> {
    for signal in [SIGTERM, SIGINT] {
        // In this order: the first signal finds `asked` not set yet.
        flag::register_conditional_shutdown(signal, Exit::Interrupted.code().into(), Arc::clone(asked))?;
        flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}
