//! Small XML documents of strangers, as trees. Namespaces are left out: a name is what follows the colon.
//!
//! The document must be UTF-8 and whole. It may have no document type, so there are no entities but XML's own five; its depth and its number of
//! elements are bounded.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Elements inside each other. Those of ONVIF are a dozen.
const DEEPEST: usize = 64;
/// Elements in all. The profiles of a recorder with 64 channels are some ten thousand.
const MOST_ELEMENTS: usize = 50_000;
/// Characters of an attribute's value that are kept: tokens of profiles have 64 at most.
const LONGEST_VALUE: usize = 256;

/// Why a text cannot be read as such a document.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum XmlError {
    #[error("it is no XML: {0:.200}")]
    Wrong(String),
    #[error("its XML has a document type, with which a few bytes can mean gigabytes: expected none")]
    DocumentType,
    #[error("its XML has the entity '&{0:.32};', which XML does not define")]
    Entity(String),
    #[error("its XML has more than {DEEPEST} elements inside each other")]
    Deep,
    #[error("its XML has more than {MOST_ELEMENTS} elements")]
    Large,
    #[error("its XML breaks off")]
    Short,
}

/// An element.
#[derive(Clone, Debug, Default)]
pub(super) struct Element {
    /// Its name without a namespace.
    pub name: String,
    /// The attribute `token`, the only one that is read.
    pub token: Option<String>,
    /// Its own text, without that of the elements in it.
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// The first element in it with a name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The element that this path leads to, the first one at each step.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |element, name| element.child(name))
    }

    /// The text there, without white space around it; none if it is empty.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path).map(|element| element.text.trim()).filter(|text| !text.is_empty())
    }
}

/// Reads a document, and returns its outermost element.
///
/// # Errors
/// See [`XmlError`].
pub(super) fn read(bytes: &[u8]) -> Result<Element, XmlError> {
    let text = std::str::from_utf8(bytes).map_err(|e| XmlError::Wrong(format!("it is no UTF-8: {e}")))?;
    let mut reader = Reader::from_str(text);
    // An element that holds the outermost one, and those that are open.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        let event = reader.read_event().map_err(|e| XmlError::Wrong(e.to_string()))?;
        match event {
            Event::Start(tag) => {
                open.push(element(&tag, &mut elements)?);
                if open.len() > DEEPEST + 1 {
                    return Err(XmlError::Deep);
                }
            }
            Event::Empty(tag) => {
                let element = element(&tag, &mut elements)?;
                innermost(&mut open)?.children.push(element);
            }
            // The reader has compared the names.
            Event::End(_) => {
                let element = open.pop().ok_or(XmlError::Short)?;
                innermost(&mut open)?.children.push(element);
            }
            Event::Text(text) => {
                let text = text.decode().map_err(|e| XmlError::Wrong(e.to_string()))?;
                innermost(&mut open)?.text.push_str(&text);
            }
            Event::CData(text) => {
                let text = text.decode().map_err(|e| XmlError::Wrong(e.to_string()))?;
                innermost(&mut open)?.text.push_str(&text);
            }
            Event::GeneralRef(name) => {
                let text = &mut innermost(&mut open)?.text;
                match name.resolve_char_ref().map_err(|e| XmlError::Wrong(e.to_string()))? {
                    Some(character) => text.push(character),
                    None => {
                        let name = String::from_utf8_lossy(&name).into_owned();
                        let known = resolve_predefined_entity(&name);
                        text.push_str(known.ok_or(XmlError::Entity(name))?);
                    }
                }
            }
            Event::DocType(_) => return Err(XmlError::DocumentType),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => (),
            Event::Eof => break,
        }
    }
    let [outermost] = &mut open[..] else { return Err(XmlError::Short) };
    match (outermost.children.len(), outermost.text.trim()) {
        (1, "") => outermost.children.pop().ok_or(XmlError::Short),
        (0, "") => Err(XmlError::Wrong("it is empty".into())),
        _ => Err(XmlError::Wrong("there is something beside its outermost element".into())),
    }
}

/// The innermost element that is open.
fn innermost(open: &mut [Element]) -> Result<&mut Element, XmlError> {
    open.last_mut().ok_or(XmlError::Short)
}

/// The element that a tag begins; `elements` counts them.
fn element(tag: &BytesStart<'_>, elements: &mut usize) -> Result<Element, XmlError> {
    *elements += 1;
    if *elements > MOST_ELEMENTS {
        return Err(XmlError::Large);
    }
    let name = String::from_utf8_lossy(tag.local_name().as_ref()).into_owned();
    // Without checks: looking for two of the same name compares each with each.
    let mut attributes = tag.attributes();
    let token = attributes.with_checks(false).flatten().find(|each| each.key.as_ref() == b"token");
    let token = token.map(|token| token.normalized_value(XmlVersion::Implicit1_0)).transpose();
    let token = token.map_err(|e| XmlError::Wrong(e.to_string()))?;
    let token = token.map(|token| token.chars().take(LONGEST_VALUE).collect());
    Ok(Element { name, token, ..Element::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_document_becomes_a_tree_without_namespaces() {
        let text = "\u{feff}<?xml version='1.0' encoding='utf-8'?><!-- c --><s:E xmlns:s='x'><a:B token='p&amp;1'> one &lt;i&gt; &#xe4;<![CDATA[&<b>]]> \
                    </a:B><B/><c><D>2</D></c></s:E>";
        let root = read(text.as_bytes()).unwrap();
        assert_eq!(root.name, "E");
        assert_eq!(root.text_at(&["B"]), Some("one <i> ä&<b>"));
        assert_eq!(root.child("B").unwrap().token.as_deref(), Some("p&1"));
        assert_eq!(root.text_at(&["c", "D"]), Some("2"));
        assert_eq!((root.children.len(), root.text_at(&["c"]), root.text_at(&["x", "D"])), (3, None, None));
    }

    #[test]
    fn what_would_grow_or_sink_is_refused_with_a_sentence() {
        let laughs =
            "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;&a;'>]><x>&b;</x>";
        assert!(refused(laughs).contains("document type"), "{}", refused(laughs));
        let external = "<!DOCTYPE x SYSTEM 'file:///etc/passwd'><x/>";
        assert!(refused(external).contains("document type"));
        assert!(refused("<x>&passwords;</x>").contains("'&passwords;'"));
        let deep = "<a>".repeat(2_000_000);
        assert!(refused(&deep).contains("inside each other"));
        let wide = format!("<x>{}</x>", "<a/>".repeat(2_000_000));
        assert!(refused(&wide).contains("more than 50000 elements"));
        for (text, part) in [
            ("", "empty"),
            ("<a><b></b>", "breaks off"),
            ("<a></b>", "no XML"),
            ("<a/><b/>", "beside"),
            ("hello", "beside"),
            ("</a>", "no XML"),
            ("<a", "no XML"),
        ] {
            assert!(refused(text).contains(part), "{text}: {}", refused(text));
        }
        assert!(read(b"<a>\xff</a>").unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn a_tag_of_many_attributes_is_read_once() {
        let many: String = (0..200_000).map(|number| format!(" a{number}='x'")).collect();
        let root = read(format!("<x{many} token='t'/>").as_bytes()).unwrap();
        assert_eq!(root.token.as_deref(), Some("t"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn any_mixture_of_its_parts_is_read_or_refused(text in "(<a>|</a>|<b token='|'/>|&amp;|&#0;|&x;|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<\\?|\\?>|x){0,40}") {
            let _ = read(text.as_bytes());
        }
    }
}
