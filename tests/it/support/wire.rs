//! A way to the database that can be cut, before a statement arrives or after its answer was sent: what a switch, a
//! fail-over or a proxy does to the one transaction that matters.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinHandle,
};

use super::cluster::TestDatabase;

/// When the connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The statement never gets to the server.
    BeforeItArrives,
    /// The server has carried it out and committed; nobody hears of it.
    AfterItsCommit,
}

/// Stands between one appliance and its database.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    user: String,
    database: String,
    shared: Arc<Shared>,
    listener: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    plan: Mutex<Option<Plan>>,
    is_down: watch::Sender<bool>,
    has_cut: AtomicBool,
}

#[derive(Debug, Clone)]
struct Plan {
    cut: Cut,
    marker: Vec<u8>,
    stays_down: bool,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// How the server says that a statement is through and that no transaction is open.
const READY: &[u8] = b"Z\0\0\0\x05I";

impl Wire {
    pub async fn to(database: &TestDatabase) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Arc::new(Shared { plan: Mutex::new(None), is_down: watch::Sender::new(false), has_cut: false.into() });
        let options = database.options.clone();
        let accepting = {
            let (shared, options) = (shared.clone(), options.clone());
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    if *shared.is_down.borrow() {
                        continue;
                    }
                    let (shared, options) = (shared.clone(), options.clone());
                    tokio::spawn(async move {
                        let server: Box<dyn Stream> = match options.get_socket() {
                            Some(folder) => {
                                let socket = folder.join(format!(".s.PGSQL.{}", options.get_port()));
                                Box::new(UnixStream::connect(socket).await.unwrap())
                            }
                            None => {
                                Box::new(TcpStream::connect((options.get_host(), options.get_port())).await.unwrap())
                            }
                        };
                        let mut is_down = shared.is_down.subscribe();
                        tokio::select! {
                            () = carry(client, server, &shared) => {}
                            _ = is_down.wait_for(|is_down| *is_down) => {}
                        }
                    });
                }
            }
        };
        Self {
            address,
            user: options.get_username().to_owned(),
            database: options.get_database().unwrap().to_owned(),
            shared,
            listener: tokio::spawn(accepting),
        }
    }

    /// The database's URL by this way.
    pub fn url(&self) -> String {
        format!("postgresql://{}@{}/{}?sslmode=disable", self.user, self.address, self.database)
    }

    /// Cuts the connection on which `marker` is sent next, once. New connections are carried.
    pub fn cut_once(&self, cut: Cut, marker: &str) {
        self.plan(Plan { cut, marker: marker.as_bytes().to_vec(), stays_down: false });
    }

    /// Cuts all connections when `marker` is sent, and carries none until it is mended.
    pub fn cut_for_good(&self, cut: Cut, marker: &str) {
        self.plan(Plan { cut, marker: marker.as_bytes().to_vec(), stays_down: true });
    }

    fn plan(&self, plan: Plan) {
        self.shared.has_cut.store(false, Ordering::SeqCst);
        *self.shared.plan.lock().unwrap() = Some(plan);
    }

    /// Cuts all connections, and carries none until it is mended.
    pub fn take_down(&self) {
        self.shared.is_down.send_replace(true);
    }

    /// Carries again.
    pub fn mend(&self) {
        self.shared.is_down.send_replace(false);
    }

    /// Whether what was planned has happened.
    pub fn has_cut(&self) -> bool {
        self.shared.has_cut.load(Ordering::SeqCst)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Carries one connection until it is cut or closed.
async fn carry(client: TcpStream, server: Box<dyn Stream>, shared: &Shared) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let doomed: Mutex<Option<Plan>> = Mutex::new(None);
    let there = async {
        let (mut chunk, mut tail) = (vec![0; 64 * 1024], Vec::new());
        while let Ok(count @ 1..) = from_client.read(&mut chunk).await {
            if let Some(plan) = shared.planned_for(&mut tail, &chunk[..count]) {
                *doomed.lock().unwrap() = Some(plan.clone());
                if plan.cut == Cut::BeforeItArrives {
                    return;
                }
            }
            if to_server.write_all(&chunk[..count]).await.is_err() {
                return;
            }
        }
    };
    let back = async {
        let (mut chunk, mut swallowed) = (vec![0; 64 * 1024], Vec::new());
        while let Ok(count @ 1..) = from_server.read(&mut chunk).await {
            if doomed.lock().unwrap().is_some() {
                swallowed.extend_from_slice(&chunk[..count]);
                if swallowed.ends_with(READY) {
                    return;
                }
            } else if to_client.write_all(&chunk[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! { () = there => {} () = back => {} }
    if let Some(plan) = doomed.into_inner().unwrap() {
        if plan.stays_down {
            shared.is_down.send_replace(true);
        }
        shared.has_cut.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    /// Takes the plan if its marker stands in what was sent, across reads too.
    fn planned_for(&self, tail: &mut Vec<u8>, chunk: &[u8]) -> Option<Plan> {
        tail.extend_from_slice(chunk);
        let mut plan = self.plan.lock().unwrap();
        let marker = &plan.as_ref()?.marker;
        if tail.windows(marker.len()).any(|part| part == marker) {
            return plan.take();
        }
        let kept = tail.len().saturating_sub(marker.len());
        tail.drain(..kept);
        None
    }
}
