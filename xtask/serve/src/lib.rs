//! The demo's web server: folders of files, served on 127.0.0.1 under URL
//! prefixes. In goes a list of [`Mount`]s, out comes a [`Server`] that answers
//! until it is dropped. A test can write one answer itself, as a [`Reply`].
//! Beside the files, on the same port, stands a [task stream](task_stream).
//!
//! It promises the headers that the demo is meant to work under (a strict
//! content security policy, cross-origin isolation, no caching), the MIME
//! types that browsers insist on, and that no path leads out of a mounted folder.

pub mod task_stream;

use std::collections::HashMap;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use http_body_util::channel::{Channel, Sender};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, UPGRADE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use task_stream::{Answer, Dial, Tasks};

/// What a page may do. WebAssembly needs `'wasm-unsafe-eval'`; nothing inline
/// is allowed. Pictures in a chat come from anywhere on the web. `connect-src
/// 'self'` takes in WebSockets of this port (Chrome 70, Firefox, Safari 15.4).
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; \
    script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: https:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'";

/// Cross-origin isolation gives the page clocks finer than 100 µs;
/// `credentialless` rather than `require-corp`, which would refuse the
/// pictures that the policy above allows.
const HEADERS: &[(&str, &str)] = &[
    ("cache-control", "no-store"),
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "credentialless"),
    ("x-content-type-options", "nosniff"),
];

/// How many ports are tried when the wanted one is taken.
const PORTS_TRIED: u16 = 100;

/// A folder whose files are served under a URL prefix.
#[derive(Clone, Debug)]
pub struct Mount {
    /// Begins and ends with a slash: `/`, `/pkg/`.
    pub prefix: &'static str,
    /// The folder; `index.html` answers for the prefix itself.
    pub folder: PathBuf,
}

/// What is served, and the headers of every answer.
struct Site {
    mounts: Vec<Mount>,
    headers: HeaderMap,
    /// By path: what the next request for it is answered with.
    replies: Mutex<HashMap<String, Response<Body>>>,
    tasks: Tasks,
}

type Body = Either<Full<Bytes>, Channel<Bytes, io::Error>>;

/// The body of one answer, sent as it is told. It ends when this is dropped.
pub struct Reply {
    body: Sender<Bytes, io::Error>,
}

impl Reply {
    /// Sends a piece; nobody may be there to take it.
    pub async fn send(&mut self, piece: impl Into<Bytes>) {
        let _ = self.body.send_data(piece.into()).await;
    }

    /// Closes the connection, as a server that dies does: the body never comes to its end.
    pub fn break_off(self) {
        self.body.abort(ErrorKind::ConnectionAborted.into());
    }
}

/// A running server; dropping it stops it.
pub struct Server {
    port: u16,
    site: Arc<Site>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `mounts`, the first whose prefix fits, on the first free port
    /// from `port` on. Port 0 means any free one.
    pub fn start(mounts: Vec<Mount>, port: u16) -> io::Result<Server> {
        Server::start_with(mounts, port, &[])
    }

    /// The same with headers of its own, each in the place of the usual one of its name.
    ///
    /// # Panics
    /// For a name or value that no header may have.
    pub fn start_with(mounts: Vec<Mount>, port: u16, own: &[(&str, &str)]) -> io::Result<Server> {
        let mut headers = HeaderMap::new();
        for (name, value) in HEADERS.iter().chain(own) {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
            headers.insert(name, HeaderValue::from_str(value).expect("a header's value"));
        }
        let listener = listen(port)?;
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let tasks = Tasks::new(runtime.handle().clone());
        let site = Arc::new(Site { mounts, headers, replies: Mutex::default(), tasks });
        let served = Arc::clone(&site);
        let thread = thread::spawn(move || runtime.block_on(serve(listener, served, stopped)));
        Ok(Server { port, site, stop: Some(stop), thread: Some(thread) })
    }

    /// Answers the next request for `path` with what the reply is told, of this type. Where a length is announced, the
    /// body is taken to have it; else it comes in chunks.
    ///
    /// # Panics
    /// For a type that no header may have.
    pub fn reply(&self, path: &str, mime: &str, length: Option<u64>) -> Reply {
        let (body, channel) = Channel::new(1);
        let mut response = Response::new(Either::Right(channel));
        response.headers_mut().clone_from(&self.site.headers);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_str(mime).expect("a header's value"));
        if let Some(length) = length {
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
        self.site.replies.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), response);
        Reply { body }
    }

    /// The address of the page, with the slash at its end.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The tasks of the task stream.
    pub fn tasks(&self) -> &Tasks {
        &self.site.tasks
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // It ends when it panics, and has said so.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Takes connections until `stopped`. A browser opens some long before it asks for anything on them: each is a task
/// of its own, and an idle one holds up nobody.
async fn serve(listener: TcpListener, site: Arc<Site>, mut stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    loop {
        let accepted = tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, say: some connections will end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(connection(stream, Arc::clone(&site)));
    }
}

/// What becomes of a connection when its HTTP is over.
enum Afterwards {
    Reset,
    Line(Dial),
}

/// Answers what comes on one connection. A line of the task stream gets the TCP stream itself, to cut it where it
/// likes: hence no upgrade by hyper, which hides it.
async fn connection(stream: TcpStream, site: Arc<Site>) {
    let afterwards = Arc::new(Mutex::new(None));
    let told = Arc::clone(&afterwards);
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (site, told) = (Arc::clone(&site), Arc::clone(&told));
        Box::pin(async move {
            if !task_stream::is_ours(request.uri().path()) {
                return Ok(answer(&request, &site));
            }
            let (response, next) = task_answer(task_stream::answer(request, &site.tasks).await, &site);
            *told.lock().unwrap_or_else(PoisonError::into_inner) = next;
            response
        })
    });
    let mut server = http1::Builder::new().title_case_headers(true).serve_connection(TokioIo::new(stream), service);
    // A client that has gone needs no answer.
    let _ = poll_fn(|context| server.poll_without_shutdown(context)).await;
    let afterwards = afterwards.lock().unwrap_or_else(PoisonError::into_inner).take();
    let parts = server.into_parts();
    let stream = parts.io.into_inner();
    match afterwards {
        Some(Afterwards::Line(dial)) => dial.run(stream, parts.read_buf).await,
        Some(Afterwards::Reset) => {
            let _ = stream.set_zero_linger();
        }
        None => {}
    }
}

/// The task stream's answer as HTTP has it, and what comes after it. An error is a connection without an answer.
fn task_answer(answer: Answer, site: &Site) -> (io::Result<Response<Body>>, Option<Afterwards>) {
    let mut response = Response::new(Either::Left(Full::default()));
    response.headers_mut().clone_from(&site.headers);
    match answer {
        Answer::Json(status, value) => {
            *response.status_mut() = status;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *response.body_mut() = Either::Left(Full::new(Bytes::from(value.to_string())));
            (Ok(response), None)
        }
        Answer::Upgrade(accept, dial) => {
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            let accept = HeaderValue::from_str(&accept).expect("base64");
            response.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accept);
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
            response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
            (Ok(response), Some(Afterwards::Line(dial)))
        }
        Answer::Reset => (Err(ErrorKind::ConnectionReset.into()), Some(Afterwards::Reset)),
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let mut last = port;
    loop {
        match TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, last))) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && last - port < PORTS_TRIED && last < u16::MAX => {
                last += 1;
            }
            outcome => return outcome,
        }
    }
}

fn answer<B>(request: &Request<B>, site: &Site) -> Response<Body> {
    if let Some(reply) = site.replies.lock().unwrap_or_else(PoisonError::into_inner).remove(request.uri().path()) {
        return reply;
    }
    let (status, mime, body) = match *request.method() {
        Method::GET | Method::HEAD => match find(request.uri().path(), &site.mounts) {
            Some(file) => match std::fs::read(&file) {
                Ok(bytes) => (StatusCode::OK, mime(&file), bytes),
                Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, TEXT, error.to_string().into_bytes()),
            },
            None => (StatusCode::NOT_FOUND, TEXT, b"not found".to_vec()),
        },
        _ => (StatusCode::METHOD_NOT_ALLOWED, TEXT, b"only GET and HEAD".to_vec()),
    };
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().clone_from(&site.headers);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}

/// The file that a request target names: none for a path that climbs out of
/// its folder, by dots, by encoded separators or by a symbolic link.
fn find(target: &str, mounts: &[Mount]) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?;
    let mount = mounts.iter().find(|mount| path.starts_with(mount.prefix))?;
    let rest = percent_decode_str(&path[mount.prefix.len()..]).decode_utf8().ok()?;
    let rest = Path::new(rest.as_ref());
    if !rest.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let folder = mount.folder.canonicalize().ok()?;
    let mut file = folder.join(rest).canonicalize().ok()?;
    if file.is_dir() {
        file = file.join("index.html").canonicalize().ok()?;
    }
    (file.starts_with(&folder) && file.is_file()).then_some(file)
}

const TEXT: &str = "text/plain; charset=utf-8";

/// Browsers refuse scripts, styles and streamed WebAssembly of a wrong type;
/// everything else the page reads as bytes or text.
fn mime(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("ico") => "image/x-icon",
        Some("txt" | "md" | "ts" | "sse" | "jsonl" | "ndjson") => TEXT,
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    /// A site with a page, a package and a secret beside both.
    fn site() -> (tempfile::TempDir, Server) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("www/index.html", "page"),
            ("www/a b.js", "script"),
            ("pkg/chatrows_bg.wasm", "module"),
            ("secret.txt", "secret"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mounts = vec![
            Mount { prefix: "/pkg/", folder: root.path().join("pkg") },
            Mount { prefix: "/", folder: root.path().join("www") },
        ];
        let server = Server::start(mounts, 0).unwrap();
        (root, server)
    }

    /// The raw answer; the request is written as given, since a client library
    /// would tidy the path.
    fn request(server: &Server, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[track_caller]
    fn check(path: &str, status: &str, mime: &str, body: &str) {
        let (_root, server) = site();
        let answer = request(&server, "GET", path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains(&format!("Content-Type: {mime}\r\n")), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
    }

    #[test]
    fn serves_each_mount_with_its_mime_type() {
        check("/", "200", "text/html; charset=utf-8", "page");
        check("/index.html?x=1", "200", "text/html; charset=utf-8", "page");
        check("/a%20b.js", "200", "text/javascript; charset=utf-8", "script");
        check("/pkg/chatrows_bg.wasm", "200", "application/wasm", "module");
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        check("/none.js", "404", TEXT, "not found");
        check("/pkg/", "404", TEXT, "not found");
        check("/%ff", "404", TEXT, "not found");
    }

    #[test]
    fn no_path_leads_out_of_its_folder() {
        for path in [
            "/../secret.txt",
            "/pkg/../secret.txt",
            "/pkg/../../secret.txt",
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "//etc/passwd",
            "/%2fetc%2fpasswd",
        ] {
            check(path, "404", TEXT, "not found");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_symbolic_link_leads_out_of_its_folder() {
        let (root, server) = site();
        let link = root.path().join("www/link.txt");
        std::os::unix::fs::symlink(root.path().join("secret.txt"), link).unwrap();
        let answer = request(&server, "GET", "/link.txt");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    }

    #[test]
    fn every_answer_carries_the_policy() {
        let (_root, server) = site();
        for path in ["/", "/none"] {
            let answer = request(&server, "GET", path);
            for (name, value) in HEADERS {
                assert!(answer.to_lowercase().contains(&format!("{name}: {value}\r\n").to_lowercase()), "{answer}");
            }
        }
    }

    #[test]
    fn a_header_of_ones_own_stands_in_the_place_of_the_usual_one() {
        let (root, _) = site();
        let mounts = vec![Mount { prefix: "/", folder: root.path().join("www") }];
        let own = [("cross-origin-embedder-policy", "require-corp"), ("x-own", "1")];
        let server = Server::start_with(mounts, 0, &own).unwrap();
        let answer = request(&server, "GET", "/");
        for line in
            ["Cross-Origin-Embedder-Policy: require-corp", "X-Own: 1", "Cross-Origin-Opener-Policy: same-origin"]
        {
            assert!(answer.contains(&format!("{line}\r\n")), "{answer}");
        }
        assert!(!answer.contains("credentialless"), "{answer}");
    }

    #[test]
    fn nothing_but_reading_is_answered() {
        let (_root, server) = site();
        assert!(request(&server, "POST", "/").starts_with("HTTP/1.1 405 "));
        let head = request(&server, "HEAD", "/");
        assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn idle_connections_hold_up_nobody() {
        let (_root, server) = site();
        let connect = || TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let idle: Vec<TcpStream> = (0..50).map(|_| connect()).collect();
        assert!(request(&server, "GET", "/").starts_with("HTTP/1.1 200 "));
        drop(idle);
    }

    #[test]
    fn a_connection_serves_one_request_after_the_other() {
        let (_root, server) = site();
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        for _ in 0..3 {
            write!(stream, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"\r\n\r\npage") {
                let mut piece = [0; 512];
                let length = stream.read(&mut piece).unwrap();
                assert!(length > 0, "{}", String::from_utf8_lossy(&answer));
                answer.extend_from_slice(&piece[..length]);
            }
        }
    }

    /// What comes of a reply of one piece, once `end` has ended it.
    fn told(length: Option<u64>, end: impl FnOnce(Reply)) -> String {
        let (_root, server) = site();
        let mut reply = server.reply("/told", TEXT, length);
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        write!(stream, "GET /told HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(reply.send("half"));
        let mut answer = Vec::new();
        while !String::from_utf8_lossy(&answer).contains("half") {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).unwrap(), 1);
            answer.push(byte[0]);
        }
        end(reply);
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    #[test]
    fn a_reply_is_what_it_is_told() {
        assert_eq!(told(None, drop), "4\r\nhalf\r\n0\r\n\r\n");
        assert_eq!(told(Some(4), drop), "half");
    }

    #[test]
    fn a_reply_that_breaks_off_has_no_end() {
        assert_eq!(told(None, Reply::break_off), "4\r\nhalf\r\n");
        assert_eq!(told(Some(8), Reply::break_off), "half");
    }

    #[test]
    fn a_reply_answers_one_request() {
        let (_root, server) = site();
        drop(server.reply("/told", TEXT, None));
        assert!(request(&server, "GET", "/told").starts_with("HTTP/1.1 200 "));
        assert!(request(&server, "GET", "/told").starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn a_taken_port_is_passed_over() {
        let (_root, first) = site();
        let second = Server::start(Vec::new(), first.port).unwrap();
        assert!(second.port > first.port);
    }
}
