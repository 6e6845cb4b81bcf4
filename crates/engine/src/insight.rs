//! Answers from the rows alone: why an execution is not moving, what breaks the rule that everything open has
//! a worker, a timer, a message or a user that will move it, and where two runs part.

pub mod diff;
pub mod doctor;
pub mod explain;
mod line;
mod params;
