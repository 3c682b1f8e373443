//! Mutex of the wait queue, under one name: the schedule test replaces it with a model-checking
//! mutex.

pub(super) use std::sync::{Mutex, MutexGuard};
