//! Surface tests: what callers see of a catalog, and what search returns.

#[cfg(test)]
pub(crate) mod catalog;
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
