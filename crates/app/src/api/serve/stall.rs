//! A stream that gives up when its peer takes nothing any more: without that, a client that never reads keeps its place,
//! and megabytes of the kernel's memory, for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

pub(super) struct Impatient<S> {
    stream: S,
    patience: Duration,
    /// Runs while the peer takes nothing; a write that goes through at once never makes one.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            stalled: None,
        }
    }

    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let timer = self
            .stalled
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(timer.as_mut().poll(context));
        let message = "the client takes nothing of its answer";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up() {
        let (near, _far) = duplex(8);
        let mut stream = Impatient::new(near, Duration::from_secs(30));
        let started = Instant::now();
        let error = stream.write_all(&[0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_peer_is_not() {
        let (near, mut far) = duplex(8);
        let mut stream = Impatient::new(near, Duration::from_secs(30));
        let reading = async {
            let mut bytes = [0; 8];
            for _ in 0..10 {
                sleep(Duration::from_secs(29)).await;
                far.read_exact(&mut bytes).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(&[0; 80]), reading);
        written.unwrap();
    }
}
