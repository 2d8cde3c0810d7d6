//! That the code that docs/your-own-decoder.md shows is that of examples/decoder, which is tested.

use crate::{page, root};

/// The blocks of code in a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    text.split(begin.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn code_of_the_tutorials_is_that_of_the_files() {
    let text = page("docs/your-own-decoder.md");
    for (language, files) in [
        ("rust", &["rust/src/imp.rs", "rust/src/grid.rs", "rust/plugin.rs"][..]),
        ("c", &["c/yolov2.c"]),
        ("python", &["python/yolov2.py"]),
    ] {
        let sources: Vec<_> = files.iter().map(|file| page(&format!("examples/decoder/{file}"))).collect();
        let shown = blocks(&text, language);
        assert!(shown.len() >= 3, "{language}: {shown:?}");
        for block in shown {
            assert!(sources.iter().any(|source| source.contains(block)), "none of {files:?} has:\n{block}");
        }
    }
    let folder = root().join("examples/decoder");
    assert!(["rust", "c", "python"].iter().all(|language| folder.join(language).is_dir()));
}
