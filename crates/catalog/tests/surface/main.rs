//! What callers see of a catalog, and what a search among it answers.

#[cfg(test)]
mod catalog;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod ranking;
#[cfg(test)]
mod search;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod viewer;
