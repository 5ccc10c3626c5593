//! As much of HTTP/1.1 as a page on this machine needs: one request a connection, a limit
//! and a time for everything that is read.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Request line and header fields.
const MOST_HEAD: usize = 16 << 10;

/// Header fields.
const MOST_FIELDS: usize = 64;

/// A question is some parameters.
const MOST_BODY: usize = 256 << 10;

/// From the first byte of a request to its last.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as it was read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// What stands between method and version.
    pub(crate) target: String,
    /// Names in lower case.
    fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why a request is not answered as asked.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}

/// What is answered.
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: std::borrow::Cow<'a, [u8]>,
}

impl Request {
    /// The field of this name, in lower case; the empty text if there is none, an error if there
    /// are several.
    pub(crate) fn field(&self, name: &str) -> Result<&str, Refusal> {
        let mut found = self.fields.iter().filter(|it| it.0 == name);
        match (found.next(), found.next()) {
            (None, _) => Ok(""),
            (Some(one), None) => Ok(&one.1),
            _ => Err(Refusal::new(400, format!("the request has several fields `{name}`"))),
        }
    }

    /// Reads a request; `None` if there comes none.
    ///
    /// # Errors
    /// [`Refusal`] says what of it is wrong, too long or too slow.
    pub(crate) fn read(stream: &mut TcpStream) -> Result<Option<Self>, Refusal> {
        Self::read_until(stream, Instant::now() + PATIENCE)
    }

    fn read_until(stream: &mut TcpStream, end: Instant) -> Result<Option<Self>, Refusal> {
        let mut bytes = Vec::new();
        let (mut request, start) = loop {
            if let Some(found) = head(&bytes)? {
                break found;
            }
            if MOST_HEAD <= bytes.len() {
                return Err(Refusal::new(431, format!("the request's head is over {MOST_HEAD} bytes long")));
            }
            if !more(stream, &mut bytes, end)? {
                // Browsers open connections that they may need.
                return if bytes.is_empty() {
                    Ok(None)
                } else {
                    Err(Refusal::new(400, "the request ends early"))
                };
            }
        };
        if !request.field("transfer-encoding")?.is_empty() {
            return Err(Refusal::new(411, "give the body with a Content-Length"));
        }
        let length = match request.field("content-length")? {
            "" => 0,
            digits if digits.bytes().all(|it| it.is_ascii_digit()) => digits.parse().unwrap_or(usize::MAX),
            _ => return Err(Refusal::new(400, "Content-Length is no number")),
        };
        if MOST_BODY < length {
            return Err(Refusal::new(
                413,
                format!("the body is over {MOST_BODY} bytes long; ask for less at once"),
            ));
        }
        while bytes.len() < start + length {
            if !more(stream, &mut bytes, end)? {
                return Err(Refusal::new(400, "the body is shorter than its Content-Length"));
            }
        }
        request.body = bytes[start..start + length].to_vec();
        Ok(Some(request))
    }
}

/// The head of a request, and where it ends; `None` if there is more to come.
fn head(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let end = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(Refusal::new(400, format!("this is no HTTP request: {error}"))),
    };
    let field = |it: &httparse::Header<'_>| {
        (it.name.to_ascii_lowercase(), String::from_utf8_lossy(it.value).trim().to_owned())
    };
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        fields: parsed.headers.iter().map(field).collect(),
        body: Vec::new(),
    };
    Ok(Some((request, end)))
}

/// Reads some more; false at the end of what there is.
fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>, end: Instant) -> Result<bool, Refusal> {
    let slow = || Refusal::new(408, "the request takes too long to come");
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
        return Err(slow());
    }
    let mut some = [0; 8 << 10];
    let read = loop {
        match stream.read(&mut some) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    match read {
        Ok(count) => {
            bytes.extend_from_slice(&some[..count]);
            Ok(count > 0)
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            Err(slow())
        }
        Err(error) => Err(Refusal::new(400, error.to_string())),
    }
}

impl Response<'_> {
    /// Writes the answer. Nothing else may frame it, run in it, be taken for another kind, or
    /// learn its address.
    pub(crate) fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\r\n",
            self.status,
            words(self.status),
            self.kind,
            self.body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

/// What a status is called.
pub(crate) fn words(status: u16) -> &'static str {
    match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// What is made of bytes that come over a connection, which then ends.
    fn read(sent: Vec<u8>) -> Result<Option<Request>, Refusal> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sender = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            // Who refuses a request need not read all of it.
            let _ = stream.write_all(&sent);
        });
        let request = Request::read(&mut listener.accept().unwrap().0);
        sender.join().unwrap();
        request
    }

    fn status(sent: impl Into<Vec<u8>>) -> u16 {
        read(sent.into()).unwrap_err().status
    }

    #[test]
    fn a_request_is_read_whole() {
        let sent = b"POST /ask HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".to_vec();
        let request = read(sent).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/ask"));
        assert_eq!((request.field("host"), request.field("origin")), (Ok("a"), Ok("")));
        assert_eq!(request.body, b"hello");
        assert_eq!(read(Vec::new()), Ok(None));
    }

    #[test]
    fn what_is_read_has_limits() {
        assert_eq!(status("nonsense\r\n\r\n"), 400);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a"), 400);
        assert_eq!(status(format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(2 * MOST_HEAD))), 431);
        assert_eq!(status(format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_FIELDS + 1))), 400);
        let post = |length: &str| format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\nabc");
        assert_eq!(status(post("999999999")), 413);
        assert_eq!(status(post("99999999999999999999999")), 413);
        assert_eq!(status(post("4")), 400);
        assert_eq!(status(post("-1")), 400);
        assert_eq!(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
        let twice = read(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_vec()).unwrap().unwrap();
        assert_eq!(twice.field("host").unwrap_err().status, 400);
    }

    #[test]
    fn who_sends_nothing_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _idle = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let end = Instant::now() + Duration::from_millis(50);
        let error = Request::read_until(&mut listener.accept().unwrap().0, end).unwrap_err();
        assert_eq!(error.status, 408);
    }
}
