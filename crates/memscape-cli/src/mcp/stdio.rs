//! The protocol on standard input and output: a JSON-RPC message per line.
//!
//! The revisions that begin with a handshake, as far as a server of tools alone needs them:
//! `initialize`, `ping`, `tools/list`, `tools/call`, and that a call is cancelled. A client that asks in
//! a newer way first falls back to the handshake when that is unknown, as the specification says.
//!
//! # Source
//! Model Context Protocol, revision 2025-11-25: base protocol, lifecycle, tools.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memscape::prelude::Control;
use serde_json::{Value, json};

use super::tools::{Answer, Tools};
use crate::failure::Failure;
use crate::progress::{is_interrupted, saving};

/// Revisions that are spoken, newest first.
const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The longest message.
const MOST_BYTES: u64 = 1 << 23;
/// Messages that wait while one is answered; more are refused.
const MOST_WAITING: usize = 64;

/// JSON-RPC's numbers for what is wrong with a message.
mod code {
    pub const PARSE: i32 = -32700;
    pub const REQUEST: i32 = -32600;
    pub const METHOD: i32 = -32601;
    pub const PARAMETERS: i32 = -32602;
    /// Of our own: the specification leaves these to servers.
    pub const BUSY: i32 = -32000;
}

/// What was read.
enum Heard {
    Message(Value),
    Unreadable(String),
    /// Requests that find no place.
    Refused(Vec<Value>),
}

/// Answers messages until there are no more.
///
/// # Errors
/// [`Failure::Output`] if answers cannot be written, [`Failure::Interrupted`] if a signal cut a call short, which has
/// then saved what it had.
pub fn serve(input: impl Read + Send + 'static, out: &mut dyn Write, tools: &Tools) -> Result<(), Failure> {
    let cancelled = Arc::new(Cancelled::default());
    let (sender, messages) = channel();
    let ids = Arc::clone(&cancelled);
    // Reads on while a call is answered, however many wait, so that it can be cancelled.
    thread::spawn(move || read(input, &sender, &ids));
    for message in messages {
        let answers = match message {
            // Revision 2025-03-26 has several in one.
            Heard::Message(Value::Array(batch)) if !batch.is_empty() => {
                let answers: Vec<Value> =
                    batch.iter().filter_map(|it| answer(it, tools, &cancelled)).collect();
                if answers.is_empty() { Vec::new() } else { vec![Value::Array(answers)] }
            }
            Heard::Message(message) => answer(&message, tools, &cancelled).into_iter().collect(),
            Heard::Unreadable(problem) => vec![error(&Value::Null, code::PARSE, &problem)],
            Heard::Refused(ids) => {
                let problem =
                    format!("{MOST_WAITING} messages wait already; ask again when they are answered");
                let refused = |id: &Value| {
                    cancelled.answered(id);
                    error(id, code::BUSY, &problem)
                };
                ids.iter().map(refused).collect()
            }
        };
        cancelled.waiting.fetch_sub(1, Ordering::Relaxed);
        for answer in answers {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        if is_interrupted() {
            return Err(Failure::Interrupted);
        }
    }
    Ok(())
}

/// Requests without an answer, and whether one is no longer wanted.
#[derive(Default)]
struct Cancelled {
    requests: Mutex<HashMap<String, bool>>,
    /// Messages that are read and not answered.
    waiting: AtomicUsize,
}

impl Cancelled {
    fn all(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self, id: &Value) {
        self.all().insert(id.to_string(), false);
    }

    /// Of a request that is answered, or was never made, it means nothing.
    fn cancel(&self, id: &Value) {
        if let Some(cancelled) = self.all().get_mut(&id.to_string()) {
            *cancelled = true;
        }
    }

    fn has(&self, id: &Value) -> bool {
        self.all().get(&id.to_string()).copied().unwrap_or_default()
    }

    fn answered(&self, id: &Value) {
        self.all().remove(&id.to_string());
    }
}

/// Hands messages on, and looks at none but cancellations.
fn read(input: impl Read, to: &Sender<Heard>, cancelled: &Cancelled) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let mut limited = input.by_ref().take(MOST_BYTES);
        match limited.read_until(b'\n', &mut line) {
            Err(_) | Ok(0) => return,
            Ok(_) => {}
        }
        let message = if line.ends_with(b"\n") || (line.len() as u64) < MOST_BYTES {
            if line.trim_ascii().is_empty() {
                continue;
            }
            serde_json::from_slice::<Value>(&line).map_err(|it| format!("not JSON: {it}"))
        } else {
            if input.skip_until(b'\n').is_err() {
                return;
            }
            Err(format!("a message has at most {MOST_BYTES} bytes"))
        };
        let several = match &message {
            Ok(Value::Array(several)) => several,
            Ok(one) => std::slice::from_ref(one),
            Err(_) => &[],
        };
        for it in several {
            match it.get("id") {
                Some(id) => cancelled.asked(id),
                None if it["method"] == "notifications/cancelled" => {
                    cancelled.cancel(&it["params"]["requestId"]);
                }
                None => {}
            }
        }
        let waiting = cancelled.waiting.fetch_add(1, Ordering::Relaxed);
        let heard = match message {
            _ if MOST_WAITING < waiting => {
                Heard::Refused(several.iter().filter_map(|it| it.get("id")).cloned().collect())
            }
            Ok(message) => Heard::Message(message),
            Err(problem) => Heard::Unreadable(problem),
        };
        if to.send(heard).is_err() {
            return;
        }
    }
}

/// The answer to a message, if it is a request that is still wanted.
fn answer(message: &Value, tools: &Tools, cancelled: &Cancelled) -> Option<Value> {
    let answer = answer_to(message, tools, cancelled);
    cancelled.answered(&message["id"]);
    answer
}

fn answer_to(message: &Value, tools: &Tools, cancelled: &Cancelled) -> Option<Value> {
    let Some(method) = message["method"].as_str().filter(|_| message["jsonrpc"] == "2.0") else {
        // An answer to nothing that we asked, or none of the protocol.
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let problem = "expected one JSON-RPC 2.0 request";
        return (!is_answer).then(|| error(&message["id"], code::REQUEST, problem));
    };
    // What has no id is told, not asked.
    let id = message.get("id")?;
    if !(id.is_string() || id.is_number()) {
        return Some(error(&Value::Null, code::REQUEST, "`id` must be a text or a number"));
    }
    let result = match method {
        "initialize" => Ok(welcome(&message["params"])),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": Tools::list_all() })),
        "tools/call" => call(id, &message["params"], tools, cancelled)?,
        _ => Err((code::METHOD, format!("there is no method `{method}`"))),
    };
    Some(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, problem)) => error(id, code, &problem),
    })
}

fn welcome(asked: &Value) -> Value {
    let wanted = asked["protocolVersion"].as_str();
    let revision = REVISIONS.into_iter().find(|it| Some(*it) == wanted).unwrap_or(REVISIONS[0]);
    json!({
        "protocolVersion": revision,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "memscape", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Mechanistic models of memory-centric hardware for LLM inference. `list` shows what there is, `describe` \
            what a study takes and answers. Paths are those of files below the folder that is served.",
    })
}

/// What a call comes to: nothing if it was cancelled.
fn call(
    id: &Value,
    asked: &Value,
    tools: &Tools,
    cancelled: &Cancelled,
) -> Option<Result<Value, (i32, String)>> {
    let Some(name) = asked["name"].as_str() else {
        let problem = "`params` must have a `name`, the text of a tool; `tools/list` has them";
        return Some(Err((code::PARAMETERS, problem.to_owned())));
    };
    let given = match asked.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(given) => given.clone(),
    };
    let watch = Watch { id, cancelled };
    let done = if watch.cancelled() { return None } else { saving(|| tools.call(name, given, &watch)) };
    if watch.cancelled() {
        return None;
    }
    Some(match done {
        Ok(answer) => Ok(content(answer)),
        Err(failure) if !Tools::knows(name) => Err((code::PARAMETERS, failure.to_string())),
        // What the asker can mend is a result, so that it is seen.
        Err(failure) => {
            Ok(json!({ "content": [{ "type": "text", "text": failure.to_string() }], "isError": true }))
        }
    })
}

fn content(answer: Answer) -> Value {
    let facts = Value::Object(answer.facts);
    let mut content = vec![json!({ "type": "text", "text": facts.to_string() })];
    if let Some(png) = answer.png {
        content
            .push(json!({ "type": "image", "data": BASE64_STANDARD.encode(png), "mimeType": "image/png" }));
    }
    json!({ "content": content, "structuredContent": facts, "isError": false })
}

/// Whether a call is still wanted.
struct Watch<'a> {
    id: &'a Value,
    cancelled: &'a Cancelled,
}

impl Control for Watch<'_> {
    fn cancelled(&self) -> bool {
        self.cancelled.has(self.id) || is_interrupted()
    }
}

fn error(id: &Value, code: i32, problem: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": problem } })
}
