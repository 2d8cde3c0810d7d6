use std::path::PathBuf;

use super::*;
use crate::inference::Precision;

#[derive(Clone, Debug)]
struct Settings {
    workers: u32,
    text: String,
    file: PathBuf,
    precision: Precision,
    padding: Option<u32>,
    factor: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: 3,
            text: "auto".into(),
            file: "-".into(),
            precision: Precision::Float16,
            padding: None,
            factor: None,
        }
    }
}

fn table() -> Table<Settings> {
    Table::new([
        property!(Settings, workers, 1..=8, "Workers", "How many"),
        property!(Settings, text, (), "Text", format!("Of {} letters", 4)).playing(),
        property!(Settings, file, (), "File", "Name of a file"),
        property!(Settings, precision, (), "Precision", "Of numbers"),
        property!(Settings, "bar-padding" = padding?, 0..=255, 114, "Padding", "Value of the bars"),
        property!(Settings, factor?, 0.0..=1e6, 1.0, "Factor", "Factor")
            .shown(|settings| (f64::from(settings.workers) * 2.0).to_value()),
    ])
    .with([glib::ParamSpecUInt::builder("own").build()])
}

fn spec(table: &Table<Settings>, name: &str) -> glib::ParamSpec {
    table.specs().iter().find(|spec| spec.name() == name).unwrap().clone()
}

fn shown<T>(table: &Table<Settings>, settings: &Settings, name: &str) -> T
where
    T: for<'a> glib::value::FromValue<'a>,
{
    table.get(settings, &spec(table, name)).unwrap().get().unwrap()
}

#[test]
fn a_specification_has_what_its_row_says_and_the_settings_default() {
    gst::init().unwrap();
    let table = table();
    let names: Vec<_> = table.specs().iter().map(|spec| spec.name()).collect();
    assert_eq!(names, ["workers", "text", "file", "precision", "bar-padding", "factor", "own"]);
    let workers = spec(&table, "workers");
    assert_eq!((workers.nick(), workers.blurb()), ("Workers", Some("How many")));
    let workers = workers.downcast::<glib::ParamSpecUInt>().unwrap();
    assert_eq!((workers.minimum(), workers.maximum(), workers.default_value()), (1, 8, 3));
    assert_eq!(spec(&table, "text").blurb(), Some("Of 4 letters"));
    let default = |name: &str| spec(&table, name).default_value().clone();
    assert_eq!(default("text").get::<&str>().unwrap(), "auto");
    assert_eq!(default("file").get::<&str>().unwrap(), "-");
    assert_eq!(default("precision").get::<Precision>().unwrap(), Precision::Float16);
    assert_eq!(default("bar-padding").get::<u32>().unwrap(), 114);
    let playing = |name: &str| spec(&table, name).flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING);
    assert_eq!(["workers", "text", "factor"].map(playing), [false, true, false]);
}

#[test]
fn what_is_not_set_is_shown_by_its_default_or_by_the_function_for_that() {
    gst::init().unwrap();
    let (table, mut settings) = (table(), Settings::default());
    assert_eq!(shown::<u32>(&table, &settings, "workers"), 3);
    assert_eq!(shown::<u32>(&table, &settings, "bar-padding"), 114);
    assert_eq!(shown::<f64>(&table, &settings, "factor"), 6.0);
    settings.workers = 4;
    assert_eq!(shown::<f64>(&table, &settings, "factor"), 8.0, "as long as it is not set");
    (settings.padding, settings.factor) = (Some(0), Some(0.5));
    assert_eq!(shown::<u32>(&table, &settings, "bar-padding"), 0);
    assert_eq!(shown::<f64>(&table, &settings, "factor"), 0.5);
    assert!(table.get(&settings, &spec(&table, "own")).is_none(), "the element's own");
}

#[test]
fn what_is_set_is_in_the_field_and_null_is_the_default_again() {
    gst::init().unwrap();
    let (table, settings, element) = (table(), Mutex::new(Settings::default()), gst::Pipeline::new());
    let set = |name: &str, value: glib::Value| table.set(&element, &settings, &value, &spec(&table, name));
    assert!(set("workers", 8u32.to_value()));
    assert!(set("text", "cpu".to_value()));
    assert!(set("file", "a".to_value()));
    assert!(set("precision", Precision::Int8.to_value()));
    assert!(set("bar-padding", 7u32.to_value()));
    assert!(!set("own", 1u32.to_value()), "the element's own");
    let now = lock(&settings).clone();
    assert_eq!((now.workers, now.text.as_str(), now.file.to_str()), (8, "cpu", Some("a")));
    assert_eq!((now.precision, now.padding, now.factor), (Precision::Int8, Some(7), None));
    for name in ["text", "file"] {
        assert!(set(name, None::<&str>.to_value()));
    }
    let now = lock(&settings).clone();
    assert_eq!((now.text.as_str(), now.file.to_str()), ("auto", Some("-")));
}

#[test]
fn in_paused_only_what_is_marked_so_is_set() {
    gst::init().unwrap();
    let (table, settings, element) = (table(), Mutex::new(Settings::default()), gst::Pipeline::new());
    element.set_state(gst::State::Paused).unwrap();
    let set = |name: &str, value: glib::Value| table.set(&element, &settings, &value, &spec(&table, name));
    assert!(set("workers", 8u32.to_value()), "it is of the table, but stays");
    assert!(set("text", "cpu".to_value()));
    let now = lock(&settings).clone();
    assert_eq!((now.workers, now.text.as_str()), (3, "cpu"));
    element.set_state(gst::State::Null).unwrap();
}

#[test]
fn bytes_that_are_not_utf8_are_taken_for_names_of_files_only() {
    use std::os::unix::ffi::OsStrExt;

    gst::init().unwrap();
    let (table, settings, element) = (table(), Mutex::new(Settings::default()), gst::Pipeline::new());
    let bytes = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let value = PathBuf::from(bytes).to_value();
    for name in ["text", "file"] {
        assert!(table.set(&element, &settings, &value, &spec(&table, name)));
    }
    let now = lock(&settings).clone();
    assert_eq!((now.text.as_str(), now.file.as_os_str()), ("auto", bytes));
    assert_eq!(shown::<PathBuf>(&table, &now, "file").as_os_str(), bytes);
}
