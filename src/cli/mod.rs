//! The command line.
mod json_member;
mod output;
mod payload_view;
mod redaction;
#[cfg(test)]
mod sample;
mod stamp;
mod story_view;
mod verdict;
mod visible;
