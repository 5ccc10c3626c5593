//! A page for this machine alone: loopback only, a random token in its address, and nothing
//! for who comes from elsewhere.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::document::{START, module, refusal, served, styles};
use crate::error::Error;
use crate::http::{Refusal, Request, Response, words};
use crate::view::View;

/// Requests that are answered at the same time.
const MOST_AT_ONCE: usize = 32;

/// A page that is answered until the server is stopped, or the process ends.
pub struct Server {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

/// What all requests share.
struct Shared {
    view: View,
    token: String,
    address: SocketAddr,
    stopping: AtomicBool,
    busy: AtomicUsize,
}

impl Server {
    /// Answers a view at `127.0.0.1:port`, at a free port if that is 0. It goes on when this
    /// is dropped.
    ///
    /// # Errors
    /// [`Error::Serve`] if the port is taken, or the system has no random numbers.
    pub fn start(view: impl Into<View>, port: u16) -> Result<Self, Error> {
        let bad = |problem: String| Error::Serve { port, problem };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|it| bad(it.to_string()))?;
        let address = listener.local_addr().map_err(|it| bad(it.to_string()))?;
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(|it| bad(it.to_string()))?;
        let token = format!("{:032x}", u128::from_ne_bytes(random));
        let shared = Arc::new(Shared {
            view: view.into(),
            token,
            address,
            stopping: AtomicBool::new(false),
            busy: AtomicUsize::new(0),
        });
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || listen(&listener, &own));
        Ok(Self { shared, thread })
    }

    /// The page's address, with the token: who has it can ask.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.shared.address, self.shared.token)
    }

    /// Ends it; what is being answered is answered.
    pub fn stop(self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Wakes who waits for the next connection.
        drop(TcpStream::connect(self.shared.address));
        self.wait();
    }

    /// Waits until it is stopped.
    pub fn wait(self) {
        // A panic of that thread has been printed already.
        let _ = self.thread.join();
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut stream) = stream else { continue };
        if shared.busy.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
            shared.busy.fetch_sub(1, Ordering::Relaxed);
            // Who left needs no answer.
            let _ =
                refused(&Refusal::new(503, "too many requests at once; try again"), false).write(&mut stream);
            continue;
        }
        let turn = Turn(Arc::clone(shared));
        thread::spawn(move || answer(&mut stream, &turn.0));
    }
}

/// A request that is being answered; it gives its place back however that ends.
struct Turn(Arc<Shared>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers one connection.
fn answer(stream: &mut TcpStream, shared: &Shared) {
    let wants_json = |it: &Request| it.field("accept").is_ok_and(|it| it.contains("json"));
    let written = match Request::read(stream) {
        Ok(None) => return,
        Ok(Some(request)) => match shared.respond(&request) {
            Ok(response) => response.write(stream),
            Err(refusal) => refused(&refusal, wants_json(&request)).write(stream),
        },
        Err(refusal) => refused(&refusal, false).write(stream),
    };
    // Who left needs no answer.
    if written.is_ok() {
        let _ = stream.shutdown(Shutdown::Write);
    }
}

/// A page that says why, or the same for programs.
fn refused(it: &Refusal, as_json: bool) -> Response<'static> {
    let status = format!("{} {}", it.status, words(it.status));
    let (kind, body) = if as_json {
        ("application/json", json!({ "error": it.reason }).to_string())
    } else {
        ("text/html", refusal(&status, &it.reason))
    };
    Response { status: it.status, kind, body: Cow::Owned(body.into_bytes()) }
}

impl Shared {
    fn respond(&self, request: &Request) -> Result<Response<'_>, Refusal> {
        self.check_place(request)?;
        let path = self.below_token(&request.target)?;
        let method = request.method.as_str();
        let wanted = if path == "ask" { "POST" } else { "GET" };
        let ok = |kind, body: Cow<'static, str>| {
            let body = match body {
                Cow::Borrowed(it) => Cow::Borrowed(it.as_bytes()),
                Cow::Owned(it) => Cow::Owned(it.into_bytes()),
            };
            Ok(Response { status: 200, kind, body })
        };
        if ["", "start.js", "explorer.js", "explorer.css", "spec.json", "table.bin", "ask"].contains(&path)
            && method != wanted
        {
            let what = if path.is_empty() { "this page".to_owned() } else { format!("`{path}`") };
            return Err(Refusal::new(405, format!("{what} answers {wanted}, not {method}")));
        }
        match path {
            "" => ok("text/html", served(&self.view.title()).into()),
            "start.js" => ok("text/javascript", START.into()),
            "explorer.js" => ok("text/javascript", module().into()),
            "explorer.css" => ok("text/css", styles().into()),
            "spec.json" => ok("application/json", self.view.spec().to_string().into()),
            "table.bin" => {
                Ok(Response { status: 200, kind: "application/octet-stream", body: self.view.bytes().into() })
            }
            "ask" => ok("application/json", self.ask(request)?.to_string().into()),
            _ => Err(Refusal::new(404, format!("there is no `{path}` here"))),
        }
    }

    /// Only who sees this machine by its own name, from this very page, is answered: another
    /// site's page, or another name for this address, is not.
    fn check_place(&self, request: &Request) -> Result<(), Refusal> {
        let port = self.address.port();
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let host = request.field("host")?;
        if !hosts.iter().any(|it| it == host) {
            return Err(Refusal::new(
                421,
                format!("this page is {} and no other host; `{host}` was asked for", hosts[0]),
            ));
        }
        let origin = request.field("origin")?;
        if !origin.is_empty() && origin != format!("http://{host}") {
            return Err(Refusal::new(
                403,
                format!("pages of other origins ask nothing here; this one is `{origin}`"),
            ));
        }
        match request.field("sec-fetch-site")? {
            "" | "none" | "same-origin" => Ok(()),
            // A link in a notebook or a mail leads to the page, and to nothing else.
            _ if request.field("sec-fetch-mode")? == "navigate" => Ok(()),
            other => Err(Refusal::new(403, format!("what another site ({other}) asks is not answered"))),
        }
    }

    /// What follows the token in a path.
    fn below_token<'a>(&self, target: &'a str) -> Result<&'a str, Refusal> {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let found = path.strip_prefix('/').and_then(|it| it.split_once('/'));
        let Some((token, below)) = found else {
            return Err(Refusal::new(403, "the address has no token; use the whole link that was printed"));
        };
        if !equal(token, &self.token) {
            return Err(Refusal::new(
                403,
                "the token in the address is not this page's; use the link that was printed last (what stands after # in \
                 an older one can be put behind it)",
            ));
        }
        Ok(below)
    }

    fn ask(&self, request: &Request) -> Result<Value, Refusal> {
        let kind = request.field("content-type")?;
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(Refusal::new(415, format!("a question is application/json, not `{kind}`")));
        }
        let question: Value = serde_json::from_slice(&request.body)
            .map_err(|it| Refusal::new(400, format!("the question is no JSON: {it}")))?;
        self.view.ask(question).map_err(|it| Refusal::new(400, it.to_string()))
    }
}

/// Whether two texts are equal, in a time that does not tell how far they are.
fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use memscape_systems::study;

    use super::*;
    use crate::explorer::Explorer;

    fn server() -> Server {
        Server::start(Explorer::new(study("pim.gemv").unwrap(), &[]).unwrap(), 0).unwrap()
    }

    /// Sends a request as it is, and returns status and body.
    fn send(server: &Server, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(server.shared.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn get(server: &Server, path: &str, fields: &str) -> (u16, String) {
        let host = if fields.contains("Host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", server.shared.address)
        };
        send(server, &format!("GET /{path} HTTP/1.1\r\n{host}{fields}\r\n"))
    }

    fn post(server: &Server, fields: &str, body: &str) -> (u16, String) {
        let Shared { address, token, .. } = &*server.shared;
        send(
            server,
            &format!(
                "POST /{token}/ask HTTP/1.1\r\nHost: {address}\r\n{fields}Content-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        )
    }

    #[test]
    fn the_page_and_what_it_fetches() {
        let server = server();
        let token = server.shared.token.clone();
        assert_eq!((token.len(), server.url()), (32, format!("http://{}/{token}/", server.shared.address)));
        assert!(server.shared.address.ip().is_loopback());
        let (status, page) = get(&server, &format!("{token}/"), "");
        assert!(status == 200 && page.contains("start.js"), "{status} {page}");
        for file in ["start.js", "explorer.js", "explorer.css", "spec.json", "table.bin"] {
            assert_eq!(
                get(&server, &format!("{token}/{file}"), "Sec-Fetch-Site: same-origin\r\n").0,
                200,
                "{file}"
            );
        }
        let (_, spec) = get(&server, &format!("{token}/spec.json"), "");
        assert_eq!(serde_json::from_str::<Value>(&spec).unwrap()["study"], "pim.gemv");
        assert_ne!(Server::start(TableOf::one(), 0).unwrap().url(), server.url(), "each has its own token");
    }

    /// The smallest table.
    struct TableOf;

    impl TableOf {
        fn one() -> crate::TableView {
            let column = memscape_explore::Column::Int(vec![Some(1)]);
            crate::TableView::new(&memscape_explore::Table::from_columns([("a", column)]).unwrap()).unwrap()
        }
    }

    #[test]
    fn questions_are_answered() {
        let server = server();
        let origin =
            format!("Origin: http://{}\r\nContent-Type: application/json\r\n", server.shared.address);
        let (status, reply) = post(&server, &origin, r#"{"parameters": {"split_k": 2}}"#);
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert!(status == 200 && reply["row"]["speedup"].is_number(), "{status} {reply}");
    }

    #[test]
    fn who_comes_from_elsewhere_is_refused_with_a_reason() {
        let server = server();
        let token = server.shared.token.clone();
        let page = format!("{token}/");
        let refused = |path: &str, fields: &str, status: u16, reason: &str| {
            let (got, body) = get(&server, path, fields);
            assert!(got == status && body.contains(reason), "{path} {fields}: {got} {body}");
        };
        refused("", "", 403, "has no token");
        refused(&page[..31], "", 403, "has no token");
        refused(&format!("{}/", "0".repeat(32)), "", 403, "is not this page");
        refused(&page, "Host: example.org\r\n", 421, "no other host");
        refused(&page, "Host: 127.0.0.1\r\n", 421, "no other host");
        refused(&page, "Origin: http://example.org\r\n", 403, "other origins");
        refused(&page, "Origin: null\r\n", 403, "other origins");
        refused(
            &format!("{token}/spec.json"),
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n",
            403,
            "another site",
        );
        refused(&format!("{token}/secrets"), "", 404, "there is no `secrets` here");
        refused(&format!("{token}/ask"), "", 405, "`ask` answers POST, not GET");
        for method in ["PUT", "DELETE", "HEAD", "OPTIONS", "POST"] {
            let host = format!("Host: {}\r\n", server.shared.address);
            let (got, body) = send(&server, &format!("{method} /{page} HTTP/1.1\r\n{host}\r\n"));
            assert!(
                got == 405 && body.contains(&format!("this page answers GET, not {method}")),
                "{got} {body}"
            );
        }
        // A link from elsewhere leads to the page.
        assert_eq!(get(&server, &page, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n").0, 200);
        let localhost = format!("Host: localhost:{}\r\n", server.shared.address.port());
        assert_eq!(get(&server, &page, &localhost).0, 200);
    }

    #[test]
    fn bad_questions_are_refused_with_a_reason() {
        let server = server();
        let json = "Content-Type: application/json\r\n";
        let refused = |fields: &str, body: &str, status: u16, reason: &str| {
            let (got, said) = post(&server, fields, body);
            assert!(got == status && said.contains(reason), "{fields} {body}: {got} {said}");
        };
        refused(json, "{", 400, "no JSON");
        refused(json, "{}", 400, "missing field");
        refused(json, &"[".repeat(1000), 400, "no JSON");
        refused("Content-Type: text/plain\r\n", r#"{"parameters": {}}"#, 415, "application/json");
        refused("", r#"{"parameters": {}}"#, 415, "application/json");
        refused(
            &format!("{json}Origin: http://example.org\r\n"),
            r#"{"parameters": {}}"#,
            403,
            "other origins",
        );
        refused(&format!("{json}Accept: application/json\r\n"), "{", 400, r#"{"error":"#);
        let long = format!(r#"{{"parameters": {{"model": "{}"}}}}"#, "a".repeat(300_000));
        assert_eq!(post_status(&server, &long), 413);
    }

    /// Who is refused early may not get all of its body across.
    fn post_status(server: &Server, body: &str) -> u16 {
        let Shared { address, token, .. } = &*server.shared;
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /{token}/ask HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        std::str::from_utf8(&start[9..]).unwrap().parse().unwrap()
    }

    #[test]
    fn it_can_be_stopped() {
        let server = server();
        let address = server.shared.address;
        server.stop();
        assert!(TcpStream::connect(address).is_err());
    }
}
