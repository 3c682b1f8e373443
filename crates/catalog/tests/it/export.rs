//! Export tests: every contract stays within the limits that each provider publishes.

#[cfg(test)]
mod agent_tool;
#[cfg(test)]
pub(crate) mod contracts;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod selection;
