//! The `haft` command from outside: a workspace and a command line in, the whole answer out.

mod bad_contracts;
mod check;
mod edges;
mod init;
mod input;
mod integrity;
mod lifecycle;
mod majors;
mod pages;
mod published;
mod show;
mod stage;
mod why;
