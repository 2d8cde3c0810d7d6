//! What each pipeline file runs here: the tests' own models, whose results follow from the pictures by a few operations, so that every
//! runtime comes to the same.

use std::path::Path;

use gstcudainfer::model::Array;

use crate::model;

/// The keys of a pipeline file and their values.
pub type Values = Vec<(&'static str, String)>;

/// A detector that finds each of the three colours.
fn colours() -> String {
    model("extents")
}

/// A copy of a test model with a sidecar of its own.
fn with_sidecar(folder: &Path, name: &str, sidecar: &str) -> String {
    let path = folder.join(format!("own-{name}.onnx"));
    std::fs::copy(model(name), &path).unwrap();
    std::fs::write(path.with_extension("toml"), sidecar).unwrap();
    path.display().to_string()
}

/// The keys of the pipeline file `name`, but those of the video and the results. `folder` is for what they need besides.
///
/// # Panics
/// There is no case for that file.
pub fn values(name: &str, folder: &Path) -> Values {
    let every_class = ("classes", "red,green,blue".to_owned());
    match name {
        "detect" | "detect-track" | "tiled" => vec![("model", colours()), every_class],
        "count" => {
            let zones = "left=polygon:0,0,0.5,0,0.5,1,0,1;middle=line:0.3,1,0.3,0";
            vec![("model", colours()), every_class, ("zones", zones.into())]
        }
        "detect-tiles" => vec![("model", colours()), every_class, ("tile", "96".into())],
        "pose-bottomup" => vec![("model", model("bottom-up"))],
        "labels-bottomup" => vec![("model", model("bottom-up")), ("format", "json".into())],
        "pose-topdown" => vec![("detector", colours()), every_class, ("model", model("heat-maps"))],
        "labels-topdown" => vec![
            ("detector", colours()),
            every_class,
            ("model", model("heat-maps")),
            ("format", "json".into()),
        ],
        "actions" => vec![("detector", colours()), every_class, ("model", model("clip-colours"))],
        "read-text" => {
            let sidecar = "[input]\nwidth = 320\nheight = 192\n[output]\ndecoder = \"db\"\nlabels = [\"text\"]\nmap-threshold = 0.7\n";
            vec![
                ("detector", with_sidecar(folder, "text-map", sidecar)),
                ("model", model("reader")),
                ("confidence", "0.5".into()),
            ]
        }
        "faces" => {
            let sidecar = "[input]\nroi-crop = \"align\"\nalign = [[22, 18], [42, 18], [32, 30], [24, 42], [40, 42]]\n\
                           [constants]\nsize = \"frame-height-width\"\nfactor = [2.0]\n[embed]\noutput = \"scaled\"\n";
            vec![("detector", model("scrfd")), ("model", with_sidecar(folder, "constants-batch", sidecar))]
        }
        "identify" => {
            let (gallery, unknowns) = (folder.join("people.npz"), folder.join("unknowns.npz"));
            let red = Array::of_floats(vec![1, 2], &[0.6, -0.8]);
            std::fs::write(&gallery, Array::archive([("Ann", &red)]).unwrap()).unwrap();
            vec![
                ("gallery", gallery.display().to_string()),
                ("unknowns", unknowns.display().to_string()),
                ("detector", colours()),
                ("model", model("attributes")),
                ("crop", "box".into()),
                ("threshold", "0.8".into()),
            ]
        }
        "hands" => {
            let sidecar = "[input]\nresize = \"letterbox\"\npadding = 0\n[peaks]\nmode = \"global\"\n[skeleton]\n\
                           points = [\"wrist\", \"finger\", \"thumb\"]\n[track]\npadding = 1.25\n";
            vec![("detector", model("lists-torchvision")), ("model", with_sidecar(folder, "dots", sidecar))]
        }
        "lanes" => vec![("model", model("lanes-anchors")), ("regions", "0,0.2,1,0.8".into())],
        "depth" => vec![("model", model("map-depth"))],
        "segment" => vec![("model", model("masks-colours"))],
        "matte" | "matte-deovr" | "cutout" => vec![("model", model("mask-red"))],
        "segment-objects" => vec![
            ("detector", model("lists-torchvision")),
            ("classes", "a".into()),
            ("encoder", model("prompt-encoder")),
            ("decoder", model("prompt-decoder")),
        ],
        _ => panic!("add what {name}.launch runs to tests/golden/cases.rs"),
    }
}
