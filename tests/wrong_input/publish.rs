//! Impossible properties of inferpublish.

use cudainfer_tests::run;

#[test]
fn what_cannot_be_published_is_a_sentence_that_names_the_property() {
    for (properties, parts) in [
        ("topic=cams/{sorce}", ["topic 'cams/{sorce}'", "'{sorce}'", "Write {source}, {kind} or {stream}"]),
        ("topic=cams/{kind", ["topic 'cams/{kind'", "brace without the other", "Write {source}"]),
        ("send=0", ["send names no kind", "frames, events, tracks or changes", "frames+events"]),
        ("format=mot send=tracks", ["format=mot", "events and tracks", "format=json"]),
        ("format=deepstream send=frames+events", ["format=deepstream", "events and tracks", "format=json"]),
        ("format=coco append=true location=/tmp/out", ["format=coco", "is not continued", "append=false"]),
        (
            "format=coco location=redis://host/topic",
            ["format=coco is for files", "redis://host/topic", "format=json"],
        ),
        ("format=coco location=/dev/null", ["'/dev/null' cannot be written", "format=coco", "regular files"]),
        ("max-size=9 location=/dev/null", ["'/dev/null' cannot be written", "max-size", "regular files"]),
        ("max-age=9", ["'-' cannot be written", "max-age", "regular files"]),
        (
            "format=sleap append=true location=/tmp/out.csv",
            ["format=sleap writes one table", "append=true is set", "format=json"],
        ),
        ("format=dlc max-size=9 location=/tmp/out.csv", ["format=dlc", "max-size is set", "Remove it"]),
        ("format=dlc leaky=upstream location=/tmp/out.csv", ["format=dlc", "leaky is set", "Remove it"]),
        ("format=sleap send=changes", ["format=sleap", "rows of frames only", "send=frames"]),
        ("format=lightning-pose individuals=2", ["one animal", "individuals is 2", "format=dlc"]),
        (
            "format=sleap location=kafka://host/topic",
            ["format=sleap is for files", "kafka://host/topic", "format=json"],
        ),
        (
            "format=sleap location=/tmp/out.json",
            ["'/tmp/out.json' is the file beside the table", "ends with .csv", "Set location"],
        ),
        (
            "second-pass=fill",
            [
                "second-pass=fill is for records of tracks",
                "neither is written",
                "Set send=tracks or format=mot",
            ],
        ),
        (
            "second-pass=join send=tracks format=sleap location=/tmp/out.csv",
            ["format=sleap", "no records of events and tracks", "format=json"],
        ),
        (
            "second-pass=join format=mot send=changes location=/tmp/out.txt",
            ["second-pass=join fills the frames", "send=changes leaves frames out", "Remove send=changes"],
        ),
        (
            "second-pass=fill format=mot interval=1000000000 location=/tmp/out.txt",
            ["second-pass=fill fills the frames", "interval leaves frames out", "Remove interval"],
        ),
        (
            "format=mot location=mqtt://host/topic",
            ["format=mot is for files", "mqtt://host/topic", "format=json"],
        ),
    ] {
        let error =
            run(&format!("videotestsrc num-buffers=2 ! inferpublish name=it {properties} ! fakesink"));
        let text = error.fails_with(&parts);
        assert!(text.starts_with("it: "), "{text}");
        assert!(text.matches(". ").count() <= 2, "{text}");
    }
}
