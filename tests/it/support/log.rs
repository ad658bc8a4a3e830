//! What the appliance logs, at its loudest, for a test to look at.

use std::{
    io,
    sync::{Arc, LazyLock, Mutex},
};

use tracing_subscriber::fmt::MakeWriter;

/// Everything that this process has logged since the first test captured it. Tests that share a process share it.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    // Every target and level: what is quiet in a real appliance must hold no secret either. No colours, which are control characters.
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
    subscriber.with_writer(log.clone()).try_init().expect("nothing else in the tests takes the log");
    log
});

impl Log {
    /// Begins to capture, if nothing has yet. The threads of the servers log here as well.
    pub fn capture() -> Self {
        LOG.clone()
    }

    /// All of it so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
