//! Whole imports, of texts with the keys that NVIDIA's samples have.

use std::fs;
use std::path::{Path, PathBuf};

use cudainfer_model::Sidecar;
use cudainfer_model::kernels::detect::DecoderKind;
use cudainfer_model::kernels::preproc::{ChannelOrder, Interpolation, Padding, Resize};
use toml::Table;

use super::Verdict;
use super::{Imported, import, run};

/// A folder with an application's configuration and the files that it names.
struct Project(tempfile::TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn import(&self, name: &str) -> Result<Imported, String> {
        import(&self.path(name)).map_err(|e| e.to_string())
    }
}

const APP: &str = "[application]\nenable-perf-measurement=1\n\
    [tiled-display]\nenable=1\nrows=2\n\
    [source0]\nenable=1\ntype=4\nuri=rtsp://cam/1\nlatency=150\nselect-rtp-protocol=4\nrtsp-reconnect-interval-sec=7\n\
    [source1]\nenable=1\ntype=3\nuri=file://street.mp4\n\
    [source2]\nenable=0\ntype=3\nuri=file://other.mp4\n\
    [streammux]\nbatch-size=2\nwidth=1920\n\
    [primary-gie]\nenable=1\nbatch-size=2\ngie-unique-id=1\nconfig-file=yolo.txt\n\
    [secondary-gie0]\nenable=1\nbatch-size=16\ngie-unique-id=5\noperate-on-gie-id=1\noperate-on-class-ids=2;\nconfig-file=make.txt\n\
    [tracker]\nenable=1\nll-config-file=sort.yml\ntracker-width=640\n\
    [nvds-analytics]\nenable=1\nconfig-file=rules.txt\n\
    [osd]\nenable=1\nborder-width=3\ntext-size=15\n\
    [sink0]\nenable=1\ntype=4\nrtsp-port=8600\nsync=0\n\
    [sink1]\nenable=1\ntype=6\nmsg-conv-config=sensors.txt\nmsg-conv-payload-type=1\n\
    msg-broker-proto-lib=/opt/lib/libnvds_kafka_proto.so\nmsg-broker-conn-str=broker;9092;ignored\ntopic=cams\n\
    [tests]\nfile-loop=1\n[mystery]\nkey=1\n";
const YOLO: &str = "[property]\nonnx-file=models/y.onnx\nnet-scale-factor=0.00392156862745098\nmodel-color-format=0\nlabelfile-path=labels.txt\n\
    batch-size=1\nnetwork-mode=0\nnum-detected-classes=3\nscaling-filter=1\ncluster-mode=2\nmaintain-aspect-ratio=1\nsymmetric-padding=1\n\
    parse-bbox-func-name=NvDsInferParseYolo\ninterval=4\nbrand-new-key=9\n\
    [class-attrs-all]\npre-cluster-threshold=0.25\nnms-iou-threshold=0.45\ntopk=300\n\
    [class-attrs-2]\npre-cluster-threshold=0.6\n";
const MAKE: &str = "[property]\nonnx-file=models/make.onnx\nprocess-mode=2\nnetwork-type=1\nnet-scale-factor=0.5\noffsets=124;117;104\n\
    model-color-format=1\nlabelfile-path=makes.txt\nclassifier-threshold=0.2\ninput-object-min-width=40\ninput-object-min-height=40\nsecondary-reinfer-interval=10\n";
const SORT: &str = "%YAML:1.0\nBaseConfig:\n  minDetectorConfidence: 0.2\nTargetManagement:\n  probationAge: 5\n  maxShadowTrackingAge: 26\n\
    StateEstimator:\n  stateEstimatorType: 2\n  processNoiseVar4Vel: 0.1\nDataAssociator:\n  checkClassMatch: 1\n  minMatchingScore4Iou: 0.25\n";
const RULES: &str = "[property]\nenable=1\nconfig-width=1000\nconfig-height=500\n\
    [roi-filtering-stream-1]\nenable=1\nroi-yard=100;100;500;100;500;400;\nclass-id=-1\n\
    [overcrowding-stream-1]\nenable=1\nroi-yard=100;100;500;100;500;400\nobject-threshold=4\nclass-id=-1\n\
    [line-crossing-stream-1]\nenable=1\nline-crossing-door=500;100;500;400;200;250;800;250\nline-crossing-back=500;400;500;100;200;250;800;250\nclass-id=0;2\nmode=strict\n\
    [direction-detection-stream-1]\nenable=1\ndirection-north=1;1;1;9\n";

fn project() -> Project {
    Project::new(&[
        ("app.txt", APP),
        ("yolo.txt", YOLO),
        ("labels.txt", "person\nbus stop\ncar\n"),
        ("make.txt", MAKE),
        ("makes.txt", "acura;audi;bmw\n"),
        ("sort.yml", SORT),
        ("rules.txt", RULES),
        ("sensors.txt", "[sensor0]\nenable=1\ntype=Camera\nid=North Gate\n"),
    ])
}

fn config(imported: &Imported) -> Table {
    imported.config.parse().unwrap_or_else(|e| panic!("{e}\n{}", imported.config))
}

/// The elements of a pipeline.
fn elements(config: &Table, pipeline: &str) -> Vec<String> {
    config["pipeline"][pipeline]["line"].as_str().unwrap().split('!').map(|e| e.trim().to_owned()).collect()
}

#[test]
fn the_pipeline_has_the_elements_of_the_groups_with_their_thresholds() {
    let config = config(&project().import("app.txt").unwrap());
    assert_eq!(
        elements(&config, "deepstream-zones"),
        [
            "cudainferupload",
            "fusedpreproc interval=4",
            "trtinfer model={model} batch-size=2 instance=deepstream/1",
            "gpunms nms=class-wise confidence=0.25 iou=0.45 class-confidence=car=0.6 top-k-after=900",
            "tracker algorithm=bytetrack min-confidence=0.2 min-hits=5 max-lost=26 iou=0.25 class-aware=true",
            "fusedpreproc roi=objects classes=car min-size=40 roi-crop=pixels interval=9",
            "trtinfer model={model-2} batch-size=16 instance=deepstream/2",
            "classify",
            "zonecount",
            "inferoverlay thickness=3",
        ]
    );
    let without: Vec<_> =
        elements(&config, "deepstream-zones").into_iter().filter(|e| e != "zonecount").collect();
    assert_eq!(elements(&config, "deepstream"), without, "streams without zones share the networks");
}

#[test]
fn sources_have_their_connection_names_and_zones() {
    let project = project();
    let config = config(&project.import("app.txt").unwrap());
    let sources = config["source"].as_array().unwrap();
    let street = format!("file://{}", project.path("street.mp4").display());
    let expected: Table = toml::from_str(&format!(
        "source = [
           {{ name = 'North-Gate', uri = 'rtsp://cam/1', pipeline = 'deepstream', rtsp = true,
              source = {{ latency = 150, protocols = 'tcp' }}, restart = {{ stall = 7 }} }},
           {{ name = 'source1', uri = '{street}', pipeline = 'deepstream-zones', loop = true, rtsp = true, zone-units = 'fraction',
              zones = [
                {{ name = 'yard', kind = 'polygon', points = [[0.1, 0.2], [0.5, 0.2], [0.5, 0.8]], occupancy = 4 }},
                {{ name = 'door', kind = 'line', points = [[0.2, 0.5], [0.8, 0.5]], classes = ['person', 'car'] }},
                {{ name = 'back', kind = 'line', points = [[0.8, 0.5], [0.2, 0.5]], classes = ['person', 'car'] }},
              ] }},
         ]"
    ))
    .unwrap();
    assert_eq!(sources, expected["source"].as_array().unwrap());
    assert_eq!(config["server"]["rtsp"].as_str(), Some("127.0.0.1:8600"));
    assert_eq!(
        config["publish"],
        toml::from_str::<Table>(
            "publish = [{ location = 'kafka://broker:9092/cams', format = 'deepstream' }]"
        )
        .unwrap()["publish"]
    );
}

#[test]
fn sidecars_make_of_a_pixel_what_nvinfer_makes_of_it() {
    let imported = project().import("app.txt").unwrap();
    let sidecars: Vec<Sidecar> =
        imported.sidecars.iter().map(|(_, text)| toml::from_str(text).unwrap()).collect();
    let [detector, other] = &sidecars[..2] else { panic!("{} sidecars", sidecars.len()) };
    assert_eq!(detector.input.resize, Some(Resize::Letterbox));
    assert_eq!(detector.input.padding, Some(Padding::Pixel(0)), "nvinfer's bars are black");
    assert_eq!(detector.output.decoder, Some(DecoderKind::EndToEnd));
    assert_eq!(other.input.resize, Some(Resize::Stretch));
    assert_eq!(other.input.channels, Some(ChannelOrder::Bgr));
    assert_eq!(other.output.labels.len(), 3);
    assert_eq!(detector.input.interpolation, Some(Interpolation::Bilinear));
    assert_eq!(other.input.interpolation, Some(Interpolation::Nearest), "nvinfer's default");
    // (factor, offsets) of nvinfer, compared with (scale, mean, std) of the sidecar, which are float32.
    for (sidecar, factor, offsets) in [(detector, 1.0 / 255.0, [0.0; 3]), (other, 0.5, [124.0, 117.0, 104.0])]
    {
        let list = |values: &Option<Vec<f32>>, default: f64| match values {
            Some(list) => (0..3).map(|c| f64::from(list[c % list.len()])).collect(),
            None => vec![default; 3],
        };
        let scale = f64::from(sidecar.input.scale.unwrap());
        let (mean, std) = (list(&sidecar.input.mean, 0.0), list(&sidecar.input.std, 1.0));
        for (c, offset) in offsets.iter().enumerate() {
            for pixel in [0.0, 1.0, 127.0, 255.0] {
                let (ours, theirs) = ((pixel * scale - mean[c]) / std[c], factor * (pixel - offset));
                assert!((ours - theirs).abs() < 1e-7, "channel {c}, pixel {pixel}: {ours}, not {theirs}");
            }
        }
    }
}

#[test]
fn every_key_is_translated_or_named_with_its_line() {
    let project = project();
    let imported = project.import("app.txt").unwrap();
    let findings = imported.report.findings();
    let of = |file: &str, key: Option<&str>, group: &str| {
        let found =
            |f: &&super::Finding| f.file == project.path(file) && f.key.as_deref() == key && f.group == group;
        findings.iter().find(found).map(|f| (f.line, f.verdict))
    };
    let line = |text: &str, start: &str| text.lines().position(|l| l.starts_with(start)).unwrap() + 1;
    for (file, text, group, key, verdict) in [
        ("yolo.txt", YOLO, "property", "brand-new-key", Verdict::NotTranslated),
        ("yolo.txt", YOLO, "class-attrs-all", "topk", Verdict::Differs),
        ("app.txt", APP, "osd", "text-size", Verdict::NotTranslated),
        ("app.txt", APP, "tracker", "tracker-width", Verdict::NotNeeded),
        ("sort.yml", SORT, "StateEstimator", "processNoiseVar4Vel", Verdict::NotTranslated),
        ("rules.txt", RULES, "line-crossing-stream-1", "mode", Verdict::Differs),
        ("sensors.txt", "[sensor0]\nenable=1\ntype=Camera\n", "sensor0", "type", Verdict::NotTranslated),
    ] {
        let at = line(text, &format!("{}{key}", if file == "sort.yml" { "  " } else { "" }));
        assert_eq!(
            of(file, Some(key), group),
            Some((at, verdict)),
            "{file} [{group}] {key}\n{}",
            imported.report
        );
    }
    for (file, group) in
        [("app.txt", "mystery"), ("app.txt", "source2"), ("rules.txt", "direction-detection-stream-1")]
    {
        assert!(of(file, None, group).is_some(), "{file} [{group}]\n{}", imported.report);
    }
}

#[test]
fn a_region_is_crowded_by_as_many_objects_as_the_threshold() {
    let occupancy = |rule: &str| {
        let region = "roi-yard=100;100;500;100;500;400";
        let rules = format!("[property]\nenable=1\n[overcrowding-stream-0]\nenable=1\n{region}\n{rule}\n");
        let app = "[source0]\nenable=1\nuri=rtsp://c\n[primary-gie]\nenable=1\nconfig-file=net.txt\n\
                   [nvds-analytics]\nenable=1\nconfig-file=rules.txt\n";
        let net = "[property]\nonnx-file=m.onnx\nparse-bbox-func-name=x\n";
        let project = Project::new(&[("app.txt", app), ("net.txt", net), ("rules.txt", &rules)]);
        config(&project.import("app.txt").unwrap())["source"][0]["zones"][0]["occupancy"].as_integer()
    };
    assert_eq!(occupancy("object-threshold=7"), Some(7));
    assert_eq!(occupancy("object-threshold=0"), Some(1), "an empty region is never crowded");
    assert_eq!(occupancy("time-threshold=500"), Some(1), "nvdsanalytics' default");
}

#[test]
fn one_finding_stands_for_all_keys_of_a_network_that_is_left_out() {
    let app = "[source0]\nenable=1\nuri=rtsp://c\n[primary-gie]\nenable=1\nbatch-size=4\nlabelfile-path=l.txt\nconfig-file=gone.txt\n";
    let report = Project::new(&[("app.txt", app)]).import("app.txt").unwrap().report;
    let of_network: Vec<_> = report.findings().into_iter().filter(|f| f.group == "primary-gie").collect();
    assert_eq!(of_network.len(), 1, "{report}");
    assert!(of_network[0].sentence.starts_with("this network is left out: "), "{report}");
}

#[test]
fn boxes_are_suppressed_as_the_cluster_mode_says() {
    let nms = |property: &str, all: &str| {
        let file = format!(
            "[property]\nonnx-file=m.onnx\nparse-bbox-func-name=x\n{property}\n[class-attrs-all]\n{all}\n"
        );
        let project = Project::new(&[
            ("app.txt", "[source0]\nenable=1\nuri=rtsp://c\n[primary-gie]\nenable=1\nconfig-file=net.txt\n"),
            ("net.txt", &file),
        ]);
        let config = config(&project.import("app.txt").unwrap());
        elements(&config, "deepstream")[3].clone()
    };
    // nvinfer's defaults: 0.2, 0.3, groupRectangles with a threshold of 0, which groups nothing.
    assert_eq!(nms("", ""), "gpunms nms=none confidence=0.2");
    assert_eq!(nms("", "group-threshold=1"), "gpunms nms=class-wise confidence=0.2 iou=0.3");
    assert_eq!(nms("cluster-mode=2", ""), "gpunms nms=class-wise confidence=0.2 iou=0.3");
    assert_eq!(
        nms("cluster-mode=4", "pre-cluster-threshold=0.5\nnms-iou-threshold=0.7"),
        "gpunms nms=none confidence=0.5"
    );
    assert_eq!(
        nms("cluster-mode=2", "post-cluster-threshold=0.4"),
        "gpunms nms=class-wise confidence=0.4 iou=0.3"
    );
    assert_eq!(
        nms("cluster-mode=2", "detected-min-w=8\ndetected-min-h=16"),
        "gpunms nms=class-wise confidence=0.2 iou=0.3 min-width=8 min-height=16"
    );
}

#[test]
fn yaml_and_its_list_of_sources_give_the_same_as_a_key_file() {
    let yaml = "application:\n  enable-perf-measurement: 1\nsource:\n  csv-file-path: sources.csv\nprimary-gie:\n  enable: 1\n  config-file: net.yml\n";
    let net = "property:\n  onnx-file: m.onnx\n  parse-bbox-func-name: x\n  cluster-mode: 2\n  infer-dims: 3;544;960\nclass-attrs-all:\n  topk: 20\n";
    let ini = "[source0]\nenable=1\ntype=3\nuri=rtsp://a\n[source1]\nenable=1\ntype=3\nuri=rtsp://b\n[primary-gie]\nenable=1\nconfig-file=net.txt\n";
    let project = Project::new(&[
        ("app.yml", yaml),
        ("app.txt", ini),
        ("net.yml", net),
        (
            "net.txt",
            "[property]\nonnx-file=m.onnx\nparse-bbox-func-name=x\ncluster-mode=2\ninfer-dims=3;544;960\n[class-attrs-all]\ntopk=20\n",
        ),
        ("sources.csv", "enable,type,uri,num-sources\n1,3,rtsp://a,1\n\n1,3,rtsp://b,1\n"),
    ]);
    let (yaml, ini) = (project.import("app.yml").unwrap(), project.import("app.txt").unwrap());
    assert_eq!(config(&yaml), config(&ini));
    assert_eq!(yaml.sidecars, ini.sidecars);
    assert!(yaml.sidecars[0].1.contains("height = 544\n"), "{}", yaml.sidecars[0].1);
    assert!(yaml.sidecars[0].1.contains("width = 960\n"), "{}", yaml.sidecars[0].1);
}

#[test]
fn a_network_without_onnx_is_named_and_its_sidecar_is_kept() {
    let project = Project::new(&[
        ("app.txt", "[source0]\nenable=1\nuri=rtsp://c\n[primary-gie]\nenable=1\nconfig-file=net.txt\n"),
        (
            "net.txt",
            "[property]\nmodel-engine-file=old.etlt_b1.engine\ntlt-encoded-model=old.etlt\nlabelfile-path=none.txt\n",
        ),
    ]);
    run(&project.path("app.txt"), &project.path("out.toml")).unwrap();
    let config: Table = fs::read_to_string(project.path("out.toml")).unwrap().parse().unwrap();
    assert_eq!(config["pipeline"]["deepstream"]["set"]["model"].as_str(), Some("model.onnx"));
    assert!(project.path("model.toml").exists(), "beside the configuration, where the model is expected");
    let report = project.import("app.txt").unwrap().report.to_string();
    for part in [
        "net.txt:2 [property] model-engine-file",
        "net.txt:3 [property] tlt-encoded-model",
        "DetectNet_v2",
        "net.txt:4 [property] labelfile-path",
    ] {
        assert!(report.contains(part), "{part} is missing in\n{report}");
    }
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let project = project();
    fs::create_dir(project.path("models")).unwrap();
    fs::write(project.path("models/y.toml"), "# mine\n").unwrap();
    run(&project.path("app.txt"), &project.path("out.toml")).unwrap();
    assert_eq!(fs::read_to_string(project.path("models/y.toml")).unwrap(), "# mine\n");
    assert!(project.path("y-1.toml").exists() && project.path("models/make.toml").exists());
    let again = run(&project.path("app.txt"), &project.path("out.toml")).unwrap_err().to_string();
    assert!(again.contains("out.toml: it exists already"), "{again}");
}

#[test]
fn what_is_no_configuration_is_refused_in_a_sentence() {
    let project = Project::new(&[
        ("net.txt", "[property]\nonnx-file=m.onnx\n"),
        ("bad.txt", "[source0\n"),
        ("bad.yml", "a: [\n"),
    ]);
    for (file, part) in [
        ("net.txt", "neither a source nor a [primary-gie]"),
        ("bad.txt", "bad.txt:1: '[source0' is no group"),
        ("bad.yml", "bad.yml:"),
        ("none.txt", "none.txt: it cannot be read"),
        (".", "expected a regular file"),
    ] {
        let error = project.import(file).unwrap_err();
        assert!(error.contains(part), "{file}: {error}");
    }
    assert!(import(Path::new("/dev/zero")).is_err());
}

/// The files that a case of [`fuzz_deepstream`] may have.
const FILES: [&str; 8] =
    ["app.txt", "app.yml", "yolo.txt", "make.txt", "sort.yml", "rules.txt", "sensors.txt", "net.yml"];

/// A case is a folder: each of its files begins with a form feed and its name.
#[test]
fn fuzz_deepstream() {
    let app = cudainfer_fuzzing::CaseFile::new(FILES[0]);
    // A group of four bytes is a struct with a table, and what is not known is reported in a sentence.
    cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "deepstream").with_ratio(1000).run_text(
        move |text| {
            for name in FILES {
                let part = text.split('\u{c}').find_map(|part| part.strip_prefix(name)?.strip_prefix('\n'));
                let path = app.folder().join(name);
                match part {
                    Some(part) => fs::write(path, part).unwrap(),
                    None => drop(fs::remove_file(path)),
                }
            }
            for name in ["app.txt", "app.yml"] {
                if let Ok(imported) = import(&app.folder().join(name)) {
                    let read = crate::config::Config::read(&imported.config, Path::new("serve.toml"));
                    assert!(
                        toml::from_str::<Table>(&imported.config).is_ok(),
                        "{read:?}: {}",
                        imported.config
                    );
                    let _ = imported.report.to_string();
                }
            }
        },
    );
}
