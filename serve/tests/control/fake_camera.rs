//! A camera of ONVIF on this machine: it answers probes with datagrams, and SOAP over HTTP, well or badly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine};
use sha1::{Digest, Sha1};

/// The user and the password. The password has what XML, URIs and shells take apart.
pub(crate) const USER: &str = "viewer";
pub(crate) const PASSWORD: &str = "p@ss<&w/rd";
/// The year in which the camera thinks that it is: of a digest with another time it takes nothing.
pub(crate) const YEAR: &str = "2001";

/// Makes the bytes of an answer by HTTP of a request's body; none, and the connection hangs.
pub(crate) type Answers = Arc<dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync>;

/// A camera.
pub(crate) struct FakeCamera {
    /// Where it gets probes.
    pub probed: SocketAddr,
    /// Where it gets SOAP.
    pub asked: SocketAddr,
    /// The bodies that have come by HTTP.
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl FakeCamera {
    /// One at an address that answers each probe with these datagrams, in which `{http}` is its address of HTTP.
    pub(crate) fn start(host: &str, datagrams: Vec<Vec<u8>>, answers: Answers) -> Self {
        let (socket, listener) = (UdpSocket::bind((host, 0)).unwrap(), TcpListener::bind((host, 0)).unwrap());
        let (probed, asked) = (socket.local_addr().unwrap(), listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok((size, from)) = socket.recv_from(&mut bytes) {
                let probe = String::from_utf8_lossy(&bytes[..size]).into_owned();
                assert!(probe.contains("dn:NetworkVideoTransmitter"), "{probe}");
                for datagram in &datagrams {
                    let text = String::from_utf8_lossy(datagram);
                    let whole = if text.contains("{http}") {
                        text.replace("{http}", &asked.to_string()).into_bytes()
                    } else {
                        datagram.clone()
                    };
                    let _ = socket.send_to(&whole, from);
                }
            }
        });
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let own = Arc::clone(&requests);
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (requests, answers) = (Arc::clone(&own), Arc::clone(&answers));
                std::thread::spawn(move || serve(connection, &requests, &answers));
            }
        });
        Self { probed, asked, requests }
    }

    /// One that answers well, and calls itself this.
    pub(crate) fn good(host: &str, id: &str, name: &str) -> Self {
        let answer = probe_match(id, "http://{http}/onvif/device_service", name);
        Self::start(host, vec![answer.clone(), answer], Arc::new(|request| Some(soap(request))))
    }

    /// The key of `[server]` with which only these cameras are looked for.
    pub(crate) fn key(cameras: &[&Self]) -> String {
        let addresses: Vec<String> = cameras.iter().map(|camera| format!("'{}'", camera.probed)).collect();
        format!("discovery = [{}]", addresses.join(", "))
    }
}

/// An answer to a probe. `name` is escaped as a scope's.
pub(crate) fn probe_match(id: &str, xaddrs: &str, name: &str) -> Vec<u8> {
    let name: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><e:Envelope xmlns:e=\"http://www.w3.org/2003/05/soap-envelope\" \
         xmlns:w=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\" xmlns:d=\"http://schemas.xmlsoap.org/ws/2005/04/discovery\">\
         <e:Header><w:RelatesTo>uuid:x</w:RelatesTo></e:Header><e:Body><d:ProbeMatches><d:ProbeMatch><w:EndpointReference><w:Address>{id}\
         </w:Address></w:EndpointReference><d:Types>dn:NetworkVideoTransmitter</d:Types>\
         <d:Scopes>onvif://www.onvif.org/hardware/X1 onvif://www.onvif.org/name/{name} onvif://www.onvif.org/location/city/Lund</d:Scopes>\
         <d:XAddrs>http://[fe80::1]/onvif {xaddrs}</d:XAddrs></d:ProbeMatch></d:ProbeMatches></e:Body></e:Envelope>"
    )
    .into_bytes()
}

/// Reads the requests of a connection, and answers them.
fn serve(connection: TcpStream, requests: &Mutex<Vec<String>>, answers: &Answers) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut connection = connection;
    loop {
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let head: Vec<String> =
            lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase()).collect();
        let Some(length) = head.iter().find_map(|line| line.strip_prefix("content-length: ")) else { return };
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        requests.lock().unwrap().push(body.clone());
        let Some(answer) = answers(&body) else { return std::thread::park() };
        if connection.write_all(&answer).is_err() {
            return;
        }
    }
}

/// An answer by HTTP.
pub(crate) fn http(status: u16, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/soap+xml\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// An envelope with this body.
pub(crate) fn envelope(body: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body>{body}</s:Body></s:Envelope>"
    )
}

/// The text of an element of a request.
fn of<'a>(request: &'a str, element: &str) -> &'a str {
    let begins = [format!("<{element}>"), format!("<{element} ")];
    let Some(at) = begins.iter().find_map(|begin| request.find(begin)) else { return "" };
    request[at..].split_once('>').and_then(|(_, rest)| rest.split_once("</")).map_or("", |(text, _)| text)
}

/// The fault of a request that lacks the login; none if it is right and of this camera's time.
pub(crate) fn refusal(request: &str) -> Option<String> {
    let created = of(request, "Created");
    let mut hash = Sha1::new();
    hash.update(BASE64_STANDARD.decode(of(request, "Nonce")).unwrap());
    hash.update(created);
    hash.update(PASSWORD);
    let right =
        BASE64_STANDARD.encode(hash.finalize()) == of(request, "Password") && created.starts_with(YEAR);
    (!right || of(request, "Username") != USER).then(|| {
        envelope(
            "<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>ter:NotAuthorized</s:Value></s:Subcode></s:Code>\
             <s:Reason><s:Text xml:lang=\"en\">Sender not &lt;b&gt; authorized</s:Text></s:Reason></s:Fault>",
        )
    })
}

/// What a good camera answers. It names other hosts in its answers, as cameras do whose network was changed.
pub(crate) fn soap(request: &str) -> Vec<u8> {
    if request.contains("GetSystemDateAndTime") {
        return http(
            200,
            &envelope(&format!(
                "<t:GetSystemDateAndTimeResponse xmlns:t=\"t\"><t:SystemDateAndTime><UTCDateTime><Time><Hour>5</Hour><Minute>6</Minute>\
                 <Second>7</Second></Time><Date><Year>{YEAR}</Year><Month>6</Month><Day>15</Day></Date></UTCDateTime></t:SystemDateAndTime>\
                 </t:GetSystemDateAndTimeResponse>"
            )),
        );
    }
    if let Some(fault) = refusal(request) {
        return http(400, &fault);
    }
    let body = if request.contains("<GetCapabilities") {
        "<t:GetCapabilitiesResponse xmlns:t=\"t\"><Capabilities><Media><XAddr>http://203.0.113.9/onvif/media</XAddr></Media></Capabilities>\
         </t:GetCapabilitiesResponse>"
            .to_owned()
    } else if request.contains("<GetProfiles") {
        let profile = |token: &str, name: &str, width: u32, height: u32| {
            format!(
                "<m:Profiles token=\"{token}\" fixed=\"true\"><Name>{name}</Name><VideoEncoderConfiguration token=\"e\"><Encoding>H264</Encoding>\
                 <Resolution><Width>{width}</Width><Height>{height}</Height></Resolution><RateControl><FrameRateLimit>25</FrameRateLimit>\
                 </RateControl></VideoEncoderConfiguration></m:Profiles>"
            )
        };
        let markup = "&lt;img src=x onerror=&quot;window.hit=1&quot;&gt;";
        format!(
            "<m:GetProfilesResponse xmlns:m=\"m\">{}{}<m:Profiles token=\"sound\"><Name>sound</Name></m:Profiles></m:GetProfilesResponse>",
            profile("p&amp;1", "main", 1920, 1080),
            profile("p2", markup, 640, 360)
        )
    } else if of(request, "ProfileToken") == "sound" {
        let fault = "<s:Fault><s:Code><s:Value>s:Receiver</s:Value></s:Code><s:Reason><s:Text>no video</s:Text></s:Reason></s:Fault>";
        return http(500, &envelope(fault));
    } else {
        let path = if of(request, "ProfileToken") == "p&amp;1" { "main" } else { "sub" };
        format!(
            "<m:GetStreamUriResponse xmlns:m=\"m\"><m:MediaUri><Uri>rtsp://admin:secret@203.0.113.9:8554/{path}?a=1&amp;b=2</Uri></m:MediaUri></m:GetStreamUriResponse>"
        )
    };
    http(200, &envelope(&body))
}
