//! Number tests: numbers of a backend's answer, as a model reads them.

use haft::Host;
use haft_model::{Call, Content, ResultStatus};
use haft_runtime::{CallOptions, Patience};
use haft_testkit::{Folder, NumberTexts, decimal};

const TOOL: &str = "---\nname: Read\nid: read\ndescription: Reads.\nversion: 1.0.0\nmutates: []\n\
    risk_level: 0\napproval: auto\nrequires: {}\ninputs: { type: object }\noutputs: { type: object, \
    properties: { all: { type: array, items: {} } }, required: [all] }\n---\n";

const DRIVER: &str = "---\nname: Cat\nid: cat\ndescription: Prints a file.\nversion: 1.0.0\nkind: cli\n\
    bin: cat\nsandbox: { fs: { read: [\"./**\"], write: [] } }\nimplements:\n  \
    - tool: read\n    version: ^1\n    metadata:\n      cli: { argv: [\"numbers.json\"], output_format: json }\n---\n";

#[tokio::test]
async fn number_in_result_reaches_model_with_all_digits() {
    let numbers: Vec<String> = NumberTexts(0x9e37_79b9_7f4a_7c15).take(400).collect();
    let folder = Folder::new()
        .file("haft.toml", "[workspace]\nname = \"numbers\"\nautonomy = 3\n")
        .file("numbers.json", format!("{{\"all\": [{}]}}", numbers.join(", ")))
        .file(".tools/read/TOOL.md", TOOL)
        .file(".drivers/cat/DRIVER.md", DRIVER);
    let host: Host = crate::cli::open(&folder);
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let call = Call::new(host.actor("agent:test"), "read", serde_json::json!({}));
    let envelope = host.runtime().call(call, manner).await;
    assert_eq!(envelope.status, ResultStatus::Succeeded, "{:?}", envelope.error);
    let [Content::Text { text, .. }] = envelope.model_facing_content.as_slice() else {
        panic!("{:?}", envelope.model_facing_content)
    };
    let told = text.trim_start_matches("{\"all\":[").trim_end_matches("]}");
    let told: Vec<&str> = told.split(',').map(|number| number.trim_matches('"')).collect();
    assert_eq!(told.len(), numbers.len());
    for (number, told) in numbers.iter().zip(told) {
        assert_eq!(decimal(number), decimal(told), "{number} became {told}");
    }
    let warned = envelope.warnings.iter().any(|words| words.contains("more digits"));
    assert!(warned, "{:?}", envelope.warnings);
}
