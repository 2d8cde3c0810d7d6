//! The service with a configuration that `import` has written.

use cudainfer_tests::{free_port, model, run, scratch};
use rustix::process::Signal;

use crate::service::{Service, command};

const APP: &str = "[application]\nenable-perf-measurement=1\n\
    [source0]\nenable=1\ntype=3\nuri=file://street.mp4\n\
    [source1]\nenable=1\ntype=3\nuri=file://street.mp4\n\
    [streammux]\nbatch-size=2\nwidth=160\nheight=120\n\
    [primary-gie]\nenable=1\nbatch-size=2\ngie-unique-id=1\nconfig-file=net.txt\n\
    [tracker]\nenable=1\nll-config-file=sort.yml\n\
    [nvds-analytics]\nenable=1\nconfig-file=rules.txt\n\
    [osd]\nenable=1\nborder-width=3\n\
    [sink0]\nenable=1\ntype=4\nrtsp-port=PORT\n\
    [tests]\nfile-loop=1\n";
const NET: &str = "[property]\nonnx-file=detector.onnx\nnet-scale-factor=0.00392156862745098\nlabelfile-path=labels.txt\n\
    num-detected-classes=2\ncluster-mode=2\nparse-bbox-func-name=mine\n\
    [class-attrs-all]\npre-cluster-threshold=0.25\nnms-iou-threshold=0.45\n";
const SORT: &str = "%YAML:1.0\nTargetManagement:\n  probationAge: 2\n  maxShadowTrackingAge: 26\n";
const RULES: &str = "[property]\nenable=1\nconfig-width=160\nconfig-height=120\n\
    [roi-filtering-stream-0]\nenable=1\nroi-yard=10;10;150;10;150;110\nclass-id=-1\n\
    [line-crossing-stream-0]\nenable=1\nline-crossing-door=80;20;80;100;20;60;140;60\nclass-id=0\nmode=loose\n";

#[test]
fn what_import_writes_is_right_and_runs() {
    let folder = scratch("import");
    let app = APP.replace("PORT", &free_port().to_string());
    for (name, text) in
        [("app.txt", app.as_str()), ("net.txt", NET), ("sort.yml", SORT), ("rules.txt", RULES)]
    {
        std::fs::write(folder.join(name), text).unwrap();
    }
    std::fs::write(folder.join("labels.txt"), "red\ngreen\n").unwrap();
    std::fs::copy(model("detector"), folder.join("detector.onnx")).unwrap();
    run(&format!(
        "videotestsrc num-buffers=100 pattern=ball ! video/x-raw,format=I420,width=160,height=120,framerate=20/1 \
         ! x264enc speed-preset=ultrafast threads=1 ! mp4mux ! filesink location={}/street.mp4",
        folder.display()
    ))
    .succeeds();
    let file = folder.join("serve.toml");
    let imported = command().arg("import").arg(folder.join("app.txt")).arg(&file).output().unwrap();
    assert!(imported.status.success(), "{imported:?}");
    // The default port may be in use on this machine: then that is what the check finds.
    let report = String::from_utf8_lossy(&imported.stderr);
    let (keys, check) =
        report.split_once("checked, as by cudainfer-serve --check").unwrap_or_else(|| panic!("{report}"));
    let right = String::from_utf8_lossy(&imported.stdout).contains("right (sources: 2, pipelines: 2)");
    assert!(right || check.contains("127.0.0.1:8080"), "{imported:?}");
    assert!(keys.contains("the ONNX file's batch is fixed at 1"), "{keys}");
    // Another port; the rest stays as it was written.
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("batch-size"), "{text}");
    std::fs::write(&file, text.replace("[server]\n", "[server]\nlisten = '127.0.0.1:0'\n")).unwrap();

    let checked = command().arg("--check").arg(&file).output().unwrap();
    assert!(checked.status.success(), "{checked:?}\n{text}");
    assert!(
        String::from_utf8_lossy(&checked.stdout).contains("right (sources: 2, pipelines: 2)"),
        "{checked:?}"
    );

    let mut service = Service::start_with(&mut command(), &file);
    service.logs(": playing", 2);
    service.signal(Signal::TERM);
    assert_eq!(service.ends().code(), Some(0));
}
