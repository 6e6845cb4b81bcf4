//! The child's end of the pipe.

use std::cell::RefCell;
use std::io::{self, BufReader, Read, Stdin};

use crate::wire::{self, Frame};

pub(super) struct Link {
    input: RefCell<BufReader<Stdin>>,
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            input: RefCell::new(BufReader::new(io::stdin())),
        }
    }

    /// Writes past the buffer of `std`, which looks for lines.
    pub(super) fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(rustix::stdio::stdout(), bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// `None` at the end of the pipe, between two frames.
    pub(super) fn receive(&self) -> io::Result<Option<Frame>> {
        let mut input = self.input.borrow_mut();
        let mut start = [0; wire::HEADER_BYTES];
        if input.read(&mut start[..1])? == 0 {
            return Ok(None);
        }
        input.read_exact(&mut start[1..])?;
        let (length, kind) = wire::header(start, wire::FROM_PARENT_BYTES_MAX)?;
        let mut body = vec![0; length];
        input.read_exact(&mut body)?;
        Ok(Some(Frame { kind, body }))
    }

    /// Asks the parent for a value and waits for it.
    pub(super) fn ask(&self, path: &str) -> io::Result<Frame> {
        self.send(&wire::frame(wire::NEED, path.as_bytes())?)?;
        match self.receive()? {
            Some(frame) if matches!(frame.kind, wire::VALUE | wire::EXACT_VALUE) => Ok(frame),
            Some(frame) => Err(unexpected(frame.kind)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

pub(super) fn unexpected(kind: u8) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a frame of kind {:?} out of turn", char::from(kind)),
    )
}
