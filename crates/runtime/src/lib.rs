//! The pipeline: every call judged, recorded and answered.
//!
//! Owns the order of the rooms, and that every call ends in exactly one envelope.
//! Must never know a wire, a file or a database; ports are handed in. Start with `Runtime`.
