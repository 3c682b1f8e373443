//! Readiness probe while the disk hangs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft::{Host, HostOptions, StoreChoice};
use haft_driver::Cancel;
use haft_ledger::{BoxFuture, Error, MemoryStore};
use haft_server::{AppState, HttpServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::meddled::{MeddledStore, Meddler};
use crate::rest::{PATIENCE, workspace};

/// A disk whose fsync blocks while it hangs, and that reports no failure.
struct HangingDisk(Arc<AtomicBool>);

impl Meddler for HangingDisk {
    fn flush<'a>(
        &'a self,
        flush: BoxFuture<'a, Result<(), Error>>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        match self.0.load(Ordering::SeqCst) {
            true => Box::pin(std::future::pending()),
            false => flush,
        }
    }
}

#[tokio::test]
async fn hanging_disk_is_not_ready() {
    let (folder, hangs) = (workspace(), Arc::new(AtomicBool::new(false)));
    let disk = HangingDisk(hangs.clone());
    let store = StoreChoice::Given(Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), disk)));
    let host = Host::open(folder.path(), HostOptions { store, ..HostOptions::default() }).unwrap();
    let desk = Arc::new(AppState::new(host.shared_runtime()).unwrap());
    let server = HttpServer::bind(desk, "127.0.0.1:0").await.unwrap();
    let (address, stop) = (server.address(), Cancel::new());
    tokio::spawn(server.run(stop.clone()));
    let ready = || async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = "GET /v1/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    };
    assert!(ready().await.starts_with("HTTP/1.1 200"));
    hangs.store(true, Ordering::SeqCst);
    let told = ready().await;
    assert!(told.starts_with("HTTP/1.1 503"), "{told}");
    assert!(told.contains("the store does not answer"), "{told}");
    hangs.store(false, Ordering::SeqCst);
    assert!(ready().await.starts_with("HTTP/1.1 200"));
    stop.cancel();
}
