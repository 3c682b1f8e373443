//! Embedding example: a program with its own tools runs a contract, a body and a call, and prints
//! the record.

use std::error::Error;
use std::time::Duration;

use haft::model::{ApprovalClass, Call};
use haft::schemars::{self, JsonSchema};
use haft::{Args, Definitions, Host, HostOptions, LoadOptions, Tool, define_driver};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// What is ordered.
    item: String,
    /// How many.
    #[schemars(range(min = 1))]
    count: u32,
}

#[derive(Serialize, JsonSchema)]
struct Receipt {
    number: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let order = Tool::<Order, Receipt>::builder("shop.order")
        .description(
            "Orders an item. Use after the customer confirmed; never to look something up.",
        )
        .mutates(["external:shop"])
        .risk(2)
        .approval(ApprovalClass::OnMutate)
        .define()?;
    let driver = define_driver("shop-in-memory")
        .implement(&order, |args: Args<Order>| async move {
            Ok(Receipt { number: format!("{}-{}", args.input.item, args.input.count) })
        })
        .define()?;
    let definitions = Definitions::new().tool(&order).driver(&driver);
    let load = LoadOptions { definitions, ..LoadOptions::default() };
    let host = Host::open(folder, HostOptions { load, ..HostOptions::default() })?;

    let agent = host.actor("agent:clerk");
    let now = host.call(Call::new(agent.clone(), "time.now", json!({}))).await;
    println!("{}", now.summary);
    let wrong = host.call(Call::new(agent, "shop.order", json!({"item": "tea", "count": 0}))).await;
    println!("{}", wrong.summary);

    host.flush().await?;
    let mut events = host.subscribe(None);
    while let Some(entry) = events.next(Duration::ZERO).await? {
        println!("entry {}: {} bytes", entry.seq, entry.line.len());
    }
    Ok(())
}
