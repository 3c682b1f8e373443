//! Tests of logins against a local authorization server, with every outcome.

mod callback;
mod device;
