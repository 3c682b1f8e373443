//! The lock behind the line, under one name: the model test puts one in its place that tries orders.

pub(super) use std::sync::{Mutex, MutexGuard};
