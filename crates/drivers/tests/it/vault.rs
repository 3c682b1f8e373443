//! Tests of the vault: who may open which secret, whose value it is, and what cannot be opened.

mod keyring;
mod places;
mod stage;
mod strongbox;
mod tokens;
mod who;
