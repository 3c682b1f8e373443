//! Long-running test tools.

use std::sync::Arc;

use haft::{Args, Definitions, define_driver};
use haft_driver::{Inquiry, InquiryKind};
use haft_model::{Code, Stop};
use serde_json::json;
use tokio::sync::Notify;

use crate::mcp::stage::{Said, reading};

/// Adds the tools: one that runs until it may end, one whose callers never wait, one that asks two
/// things, one that announces in the middle that the rest takes long, and two that write, of which one does so
/// when it may.
pub(crate) fn defined(
    definitions: Definitions,
    began: &Arc<Notify>,
    go: &Arc<Notify>,
) -> Definitions {
    let long = |id: &str, background: &str| {
        let tool = reading(id).extra("background", json!(background));
        tool.extra("supports_cancel", json!(true)).define().unwrap()
    };
    let waits = long("waits", "allowed");
    let only = long("only", "required");
    let inquires = long("inquires", "allowed");
    let later = reading("later").define().unwrap();
    let notes = reading("notes").mutates(["workspace:notes"]);
    let notes = notes.extra("background", json!("allowed")).define().unwrap();
    let orders = reading("orders").mutates(["workspace:orders"]).define().unwrap();
    let (begin, end, until) = (began.clone(), go.clone(), go.clone());
    let (ordered, sent) = (began.clone(), go.clone());
    let driver = define_driver("long")
        .implement(&waits, move |args: Args<Said>| {
            let (begin, end) = (begin.clone(), end.clone());
            async move {
                begin.notify_one();
                tokio::select! {
                    () = end.notified() => Ok(args.input),
                    () = args.cancel.cancelled() => Err(Stop::new(Code::CanceledCaller, "called off").into()),
                }
            }
        })
        .implement(&only, |args: Args<Said>| async move { Ok(args.input) })
        .implement(&notes, |args: Args<Said>| async move { Ok(args.input) })
        .implement(&orders, move |args: Args<Said>| {
            let (ordered, sent) = (ordered.clone(), sent.clone());
            async move {
                ordered.notify_one();
                sent.notified().await;
                Ok(args.input)
            }
        })
        .implement(&inquires, |args: Args<Said>| async move {
            let answers = args.link.ask([asks("name"), asks("place")].into()).await?;
            Ok(Said { text: json!(answers).to_string() })
        })
        .implement(&later, move |args: Args<Said>| {
            let until = until.clone();
            async move {
                args.link.backgrounded().await;
                until.notified().await;
                Ok(args.input)
            }
        })
        .define()
        .unwrap();
    let definitions = definitions.tool(&waits).tool(&only).tool(&inquires).tool(&later);
    definitions.tool(&notes).tool(&orders).driver(&driver)
}

fn asks(what: &str) -> (String, Inquiry) {
    let schema = json!({ "type": "object", "properties": { what: { "type": "string" } } });
    let params = json!({ "mode": "form", "message": "Which?", "requestedSchema": schema });
    (what.to_owned(), Inquiry { kind: InquiryKind::Form, params })
}
