//! `cudainfer-serve`: arguments, signals and exit codes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use cudainfer_launch::gstreamer;
use cudainfer_serve::config::Config;
use cudainfer_serve::fleet::{self, Exit, Fleet};
use cudainfer_serve::{control, import, log, output, resources, stream, systemd};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

const USAGE: &str = "\
cudainfer-serve CONFIG.toml          runs the streams of a configuration
cudainfer-serve --check CONFIG.toml  checks it, without starting anything
cudainfer-serve import FILE [OUTPUT.toml]
                                     makes one of deepstream-app's configuration, and checks it: cudainfer.toml if OUTPUT
                                     is not given
cudainfer-serve --help | --version

Signals: SIGHUP reads the configuration again, SIGTERM and SIGINT end the streams and the service.
Exit codes: 0 ended as asked, 1 cannot start, 2 wrong arguments, 69 streams did not end in time, 70 the GPU has failed for good,
71 too many pipelines do not stop, 78 wrong configuration.
";

/// The tracer, as it counts for `/metrics` of this process.
const TRACER: &str = "cudainfertracer(metrics=application)";

/// Exit codes beyond 0, 1 and 2 begin with those of sysexits.h.
const NO_START: u8 = 1;
const NOT_ENDED: u8 = 69;
const GPU_FAULT: u8 = 70;
const LEFT_BEHIND: u8 = 71;
const WRONG_CONFIGURATION: u8 = 78;

/// Events that the main thread waits for.
enum Event {
    Signal(i32),
    Exit(Exit),
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    match words.iter().map(AsRef::as_ref).collect::<Vec<&str>>().as_slice() {
        words if words.iter().any(|word| matches!(*word, "--help" | "-h")) => print(USAGE),
        ["--version" | "-V"] => print(concat!("cudainfer-serve ", env!("CARGO_PKG_VERSION"), "\n")),
        ["import", _] => imported(&arguments[1], Path::new("cudainfer.toml")),
        ["import", _, _] => imported(&arguments[1], Path::new(&arguments[2])),
        ["--check", _] => prepared(&arguments[1], |config| check(&config)),
        [word] if *word != "import" && !word.starts_with('-') => prepared(&arguments[0], serve),
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn imported(file: &std::ffi::OsStr, output: &Path) -> ExitCode {
    if let Err(e) = import::run(Path::new(file), output) {
        log::error(e);
        return ExitCode::FAILURE;
    }
    eprintln!("checked, as by cudainfer-serve --check {}:", output.display());
    // The import has succeeded also if a model is missing on this machine, or an address is taken.
    prepared(output.as_os_str(), |config| check(&config));
    ExitCode::SUCCESS
}

fn print(text: &str) -> ExitCode {
    print!("{text}");
    ExitCode::SUCCESS
}

/// Reads the configuration in its folder and calls `work` with it.
fn prepared(path: &std::ffi::OsStr, work: impl FnOnce(Config) -> ExitCode) -> ExitCode {
    let path = match Path::new(path).canonicalize() {
        Ok(path) => path,
        Err(e) => {
            log::error(format_args!("'{}' cannot be read: {e}", Path::new(path).display()));
            return ExitCode::from(WRONG_CONFIGURATION);
        }
    };
    // Before any thread is started, because it may set a variable of the environment.
    if let Err(sentence) = gstreamer::init(Some(TRACER)) {
        log::error(sentence);
        return ExitCode::FAILURE;
    }
    let folder = path.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
    if let Err(e) = std::env::set_current_dir(&folder) {
        log::error(format_args!("the folder '{}' cannot be entered: {e}", folder.display()));
        return ExitCode::FAILURE;
    }
    match Config::load(&path) {
        Ok(config) => work(config),
        Err(wrong) => {
            log::error(wrong);
            ExitCode::from(WRONG_CONFIGURATION)
        }
    }
}

fn check(config: &Config) -> ExitCode {
    if let Err(wrong) = fleet::check(config) {
        log::error(wrong);
        return ExitCode::from(WRONG_CONFIGURATION);
    }
    // The addresses of a service that runs are its own.
    if !control::is_running(config.server.listen) {
        if let Err(e) = control::Listener::open(&config.server) {
            log::error(e);
            return ExitCode::FAILURE;
        }
        if let Err(e) = output::check_address(&config.server) {
            log::error(e);
            return ExitCode::FAILURE;
        }
    }
    match fleet::try_lines(config) {
        Ok(warnings) => warnings.iter().for_each(log::warning),
        Err(wrong) => {
            log::error(wrong);
            return ExitCode::from(WRONG_CONFIGURATION);
        }
    }
    output::unwritable(&config.server).iter().for_each(log::warning);
    stream::unreachable(&config.sources).iter().for_each(log::warning);
    println!(
        "{}: right (sources: {}, pipelines: {})",
        config.path.display(),
        config.sources.len(),
        config.pipelines.len()
    );
    ExitCode::SUCCESS
}

fn serve(config: Config) -> ExitCode {
    log::with_times();
    resources::limit_arenas();
    resources::raise_limit();
    let (events, received) = channel();
    if let Err(e) = hear_signals(events.clone()) {
        log::error(format_args!("signals cannot be received: {e}"));
        return ExitCode::FAILURE;
    }
    let listener = match control::Listener::open(&config.server) {
        Ok(listener) => listener,
        Err(e) => {
            log::error(e);
            return ExitCode::FAILURE;
        }
    };
    if let Err(e) = output::check_address(&config.server) {
        log::error(e);
        return ExitCode::FAILURE;
    }
    let (exit, exits) = channel();
    let fleet = match Fleet::start(config, exit) {
        Ok(fleet) => fleet,
        Err(wrong) => {
            log::error(wrong);
            return ExitCode::from(WRONG_CONFIGURATION);
        }
    };
    let forward = move || exits.iter().try_for_each(|exit| events.send(Event::Exit(exit)));
    if let Err(e) = std::thread::Builder::new().name("exits".into()).spawn(forward) {
        log::error(format_args!("no thread can be started to notice what ends the service: {e}"));
        return stop(&fleet, Some(NO_START));
    }
    log::info(format_args!("streams: {}", fleet.status().streams.len()));
    let server = match listener.serve(fleet.clone()) {
        Ok(server) => server,
        Err(e) => {
            log::error(e);
            return stop(&fleet, Some(NO_START));
        }
    };
    log::info(format_args!("control and page are at {}", server.url()));
    systemd::ready(&fleet.status().line());
    let beat = systemd::watchdog().unwrap_or(Duration::from_secs(10)).min(Duration::from_secs(10));
    loop {
        match received.recv_timeout(beat) {
            Ok(Event::Signal(SIGHUP)) => {
                systemd::reloading();
                // An error is in the log and in /status.
                let _ = fleet.reload();
                systemd::ready(&fleet.status().line());
            }
            Ok(Event::Signal(_)) => return stop(&fleet, None),
            Ok(Event::Exit(Exit::GpuFault)) => return stop(&fleet, Some(GPU_FAULT)),
            Ok(Event::Exit(Exit::LeftBehind)) => return stop(&fleet, Some(LEFT_BEHIND)),
            Err(_) => systemd::status(&fleet.status().line()),
        }
        if fleet.is_alive() {
            systemd::alive();
        } else {
            log::error("the thread of a stream does not run its loop any more");
        }
    }
}

/// Ends all streams. `because` is the exit code if the service ends by itself, and `None` if it was asked to end.
fn stop(fleet: &Fleet, because: Option<u8>) -> ExitCode {
    systemd::stopping();
    log::info("stopping");
    let late = fleet.drain();
    if late.is_empty() {
        log::info("all streams have ended");
        return because.map_or(ExitCode::SUCCESS, ExitCode::from);
    }
    log::error(format_args!("these streams did not end within stop-timeout: {}", late.join(", ")));
    std::process::exit(i32::from(because.unwrap_or(NOT_ENDED)))
}

fn hear_signals(events: Sender<Event>) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGTERM, SIGINT])?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if events.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        })
        .map(drop)
}
