//! Chromium without a window, controlled by the DevTools protocol with real events of mouse and keyboard.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use cudainfer_tests::{LIMIT, scratch, until};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

/// Chromium, if it is installed. scripts/test installs it on Debian.
pub(crate) fn installed() -> Option<PathBuf> {
    let names = ["chromium", "chromium-headless-shell", "google-chrome"];
    let found = std::env::split_paths(&std::env::var_os("PATH")?)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    assert!(
        found.is_some() || std::env::var_os("CUDAINFER_TEST_ALL").is_none(),
        "there is no chromium: install it for the test of the page"
    );
    found
}

/// A page that is open.
pub(crate) struct Page {
    browser: Child,
    socket: WebSocket<TcpStream>,
    session: Option<String>,
    number: u64,
}

impl Page {
    pub(crate) fn open(chromium: PathBuf, url: &str) -> Self {
        Self::open_with(chromium, url, "")
    }

    /// Opens a page in which `script` runs first.
    pub(crate) fn open_with(chromium: PathBuf, url: &str, script: &str) -> Self {
        let folder = scratch("chromium");
        let browser = Command::new(chromium)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--remote-debugging-port=0",
                // The window shows the whole page, so nothing scrolls between two looks at it.
                "--window-size=1000,3000",
            ])
            .arg(format!("--user-data-dir={}", folder.display()))
            .arg("about:blank")
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let port = folder.join("DevToolsActivePort");
        let read = || std::fs::read_to_string(&port).ok().filter(|text| text.lines().count() > 1);
        until("chromium listens", || read().is_some());
        let text = read().unwrap();
        let (port, path) = text.split_once('\n').unwrap();
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (socket, _) =
            tungstenite::client(format!("ws://127.0.0.1:{port}{}", path.trim()), stream).unwrap();
        let mut page = Self { browser, socket, session: None, number: 0 };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        page.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        // An expression that is evaluated while the page loads is an error.
        page.call("Page.enable", json!({}));
        page.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": script}));
        page.call("Page.navigate", json!({"url": url}));
        while page.read()["method"] != "Page.loadEventFired" {}
        page
    }

    /// The next answer or event.
    #[track_caller]
    fn read(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// Calls a method of the protocol, and waits for its result.
    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let mut request = json!({"id": self.number, "method": method, "params": params});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(request.to_string())).unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn wait(&mut self, expression: &str) {
        until(expression, || self.evaluate(expression) == json!(true));
    }

    /// Waits until the camera's view has a picture or, where that has come first, plays its video.
    #[track_caller]
    pub(crate) fn shows_the_camera(&mut self) {
        self.wait("document.querySelector('#snapshot').naturalWidth > 0 || !document.querySelector('#live-video').hidden");
    }

    /// Clicks into an element, at a part of its width and height.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str, x: f64, y: f64) {
        self.hit(selector, [x, y], "click", Self::press_and_release);
    }

    /// The same where the press acts, and what it adds lies under the release.
    #[track_caller]
    pub(crate) fn add_point(&mut self, canvas: &str, x: f64, y: f64) {
        self.hit(canvas, [x, y], "pointerdown", Self::press_and_release);
    }

    fn press_and_release(&mut self, x: f64, y: f64) {
        ["mousePressed", "mouseReleased"].into_iter().for_each(|kind| self.mouse(kind, x, y));
    }

    /// Drags from the middle of one element to a place in another.
    #[track_caller]
    pub(crate) fn drag(&mut self, from: &str, to: &str, x: f64, y: f64) {
        let (x1, y1) = self.place(to, x, y);
        self.hit(from, [0.5, 0.5], "pointerdown", |page, x0, y0| {
            page.mouse("mousePressed", x0, y0);
            page.mouse("mouseMoved", x1, y1);
            page.mouse("mouseReleased", x1, y1);
        });
    }

    /// Taps on an element with a finger, at a part of its width and height, and waits for the click that follows.
    #[track_caller]
    pub(crate) fn tap(&mut self, selector: &str, x: f64, y: f64) {
        self.hit(selector, [x, y], "pointerdown", |page, x, y| {
            page.evaluate(
                "window.tapped = false; addEventListener('click', () => { window.tapped = true; }, { capture: true, once: true })",
            );
            for (kind, points) in [("touchStart", json!([{"x": x, "y": y}])), ("touchEnd", json!([]))] {
                page.call("Input.dispatchTouchEvent", json!({"type": kind, "touchPoints": points}));
            }
        });
        self.wait("window.tapped");
    }

    /// Has an element get this event by what `act` does there, again where the page has moved it away meanwhile.
    #[track_caller]
    fn hit(&mut self, selector: &str, [x, y]: [f64; 2], event: &str, act: impl Fn(&mut Self, f64, f64)) {
        until(&format!("{selector} is hit"), || {
            let (x, y) = self.place(selector, x, y);
            self.evaluate(&format!(
                "window.isHit = false; document.querySelector({selector:?})?.addEventListener({event:?}, \
                 () => {{ window.isHit = true; }}, {{ capture: true, once: true }})"
            ));
            act(self, x, y);
            self.evaluate("window.isHit") == json!(true)
        });
    }

    /// Emulates a phone's touch screen of this width.
    pub(crate) fn become_phone(&mut self, width: u32) {
        let screen = json!({"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": true});
        self.call("Emulation.setDeviceMetricsOverride", screen);
        self.call("Emulation.setTouchEmulationEnabled", json!({"enabled": true}));
    }

    /// A window of this size, in light or dark.
    pub(crate) fn become_window(&mut self, width: u32, height: u32, scheme: &str) {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", screen);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let params = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", params);
    }

    /// A place in an element that is shown, once it has come to rest: what is added to a page moves what is in it.
    #[track_caller]
    fn place(&mut self, selector: &str, x: f64, y: f64) -> (f64, f64) {
        // After a click on a link the page shows what it leads to a moment later.
        self.wait(&format!(
            "document.querySelector({selector:?})?.checkVisibility({{ visibilityProperty: true }}) === true"
        ));
        let rectangle = format!(
            "(async () => {{ const e = document.querySelector({selector:?}); if (!e) return [0, 0, 0, 0]; e.scrollIntoView({{block: 'center'}}); \
             for (let last = '', same = 0; ;) {{ const b = e.getBoundingClientRect(), now = [b.x, b.y, b.width, b.height]; \
             same = last === now.join() ? same + 1 : 0; last = now.join(); if (same === 2) return now; \
             await new Promise((next) => setTimeout(next, 20)); }} }})()"
        );
        let values = self.evaluate(&rectangle);
        let [left, top, width, height] = [0, 1, 2, 3].map(|i| values[i].as_f64().unwrap());
        (left + x * width, top + y * height)
    }

    /// Presses a key.
    pub(crate) fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "End" => 35,
            "ArrowLeft" => 37,
            "ArrowDown" => 40,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" && kind == "keyDown" { "\r" } else { "" };
            let params =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.call("Input.dispatchKeyEvent", params);
        }
    }

    /// Types into the element that has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
