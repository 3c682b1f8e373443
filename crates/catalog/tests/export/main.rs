//! Contracts in other people's formats: what every provider publishes as its limits holds for all of them.

#[cfg(test)]
mod agent_tool;
#[cfg(test)]
mod contracts;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod selection;
