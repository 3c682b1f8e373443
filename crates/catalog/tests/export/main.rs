//! Contracts in other people's formats: what every provider publishes as its limits holds for all of them.

mod agent_tool;
mod contracts;
mod openai;
mod providers;
mod selection;
