//! Videos, and files that are none.

use std::path::Path;

use cudainfer_tests::run;

/// Frames of each video.
pub(crate) const FRAMES: usize = 20;

/// Makes `v0.mp4` and so on, all of them different. Returns their names.
pub(crate) fn make(folder: &Path, count: usize) -> Vec<String> {
    let names: Vec<String> = (0..count).map(|number| format!("v{number}.mp4")).collect();
    for (number, name) in names.iter().enumerate() {
        make_one(&folder.join(name), number);
    }
    names
}

/// Makes one video, which is another one for each number.
pub(crate) fn make_one(path: &Path, number: usize) {
    run(&format!(
        "videotestsrc num-buffers={FRAMES} pattern=ball foreground-color={} ! video/x-raw,format=I420,width={},height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast key-int-max=10 threads=1 ! h264parse ! mp4mux ! filesink location={}",
        0xffff_0000_u32 + u32::try_from(number).unwrap() * 1000,
        64 + 16 * (number % 3),
        path.display()
    ))
    .succeeds();
}

/// Makes files that are no video that can be decoded, one of each kind. Returns their names, and a part of each one's error.
pub(crate) fn make_bad(folder: &Path) -> Vec<(&'static str, &'static str)> {
    make_one(&folder.join("whole.mp4"), 0);
    let whole = std::fs::read(folder.join("whole.mp4")).unwrap();
    std::fs::remove_file(folder.join("whole.mp4")).unwrap();
    std::fs::write(folder.join("cut.mp4"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.join("empty.mp4"), "").unwrap();
    std::fs::write(folder.join("text.mp4"), "no video").unwrap();
    run(&format!(
        "audiotestsrc num-buffers=20 ! audioconvert ! wavenc ! filesink location={}/sound.wav",
        folder.display()
    ))
    .succeeds();
    vec![
        ("cut.mp4", "no playable streams"),
        ("empty.mp4", "no data"),
        ("text.mp4", "Could not determine type of stream"),
        ("sound.wav", "it has no video stream"),
    ]
}

/// The names as arguments.
pub(crate) fn arguments(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
