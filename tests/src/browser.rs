//! A headless Chromium, spoken to over a pipe with its DevTools protocol: messages of JSON, each ended by a zero byte.
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use serde_json::{Value, json};

/// Longer than any answer takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A page in a browser of its own, which ends with this value.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// What the page complained about.
    pub errors: Vec<String>,
    /// What the page loaded.
    pub requests: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser; `None` where none is installed.
    pub fn start() -> Option<Self> {
        let runs = |name: &&str| {
            let version = Command::new(name).arg("--version").output();
            version.is_ok_and(|output| output.status.success())
        };
        let name = NAMES.into_iter().find(runs)?;
        let profile = tempfile::tempdir().expect("a temporary directory");
        // The protocol is spoken on descriptors 3 and 4.
        let script = format!(
            "exec {name} --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
             --remote-debugging-pipe --user-data-dir=\"$1\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, "browser"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = child.stdin.take().expect("a pipe");
        let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, messages) = mpsc::channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { return };
                if send.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            commands,
            messages,
            session: None,
            next: 0,
            errors: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a file in a window of this size.
    pub fn open(&mut self, path: &Utf8Path, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.call("Page.navigate", json!({ "url": format!("file://{path}") }));
        let start = Instant::now();
        while self.evaluate("document.readyState") != "complete" {
            assert!(start.elapsed() < PATIENCE, "the page does not load");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Pretends that the user prefers dark pages, or light ones.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].take()
    }

    /// Saves a picture of the page.
    pub fn screenshot(&mut self, path: &Utf8Path) {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let picture = answer["data"].as_str().expect("a picture");
        let picture = data_encoding::BASE64.decode(picture.as_bytes()).expect("base64");
        fs_err::write(path, picture).expect("a writable file");
    }

    /// Calls a method and returns its result.
    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser listens");
        loop {
            let mut message = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
            if message["id"] == self.next {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    /// Keeps what the page says by itself.
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.errors.push(params.to_string()),
            Some("Runtime.consoleAPICalled") if params["type"] == "error" || params["type"] == "warning" => {
                self.errors.push(params.to_string());
            }
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.errors.push(params.to_string());
            }
            Some("Network.requestWillBeSent") => {
                self.requests.extend(params["request"]["url"].as_str().map(str::to_owned));
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
