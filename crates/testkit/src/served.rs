//! HTTP workspace: a workspace whose tools are requests to a [`Backend`].

use crate::{Backend, Folder};

/// Frontmatter that makes a tool a read.
pub const READ: &str = "mutates: []\nrisk_level: 0\napproval: auto\n";

/// Frontmatter that makes a tool an external write that needs no approval by itself.
pub const WRITE: &str = "mutates: [\"external:shop\"]\nrisk_level: 2\napproval: auto\n";

/// A rule by which every call may run.
pub const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// A workspace in the making: contracts, and one driver of kind http that serves them all.
pub struct Served {
    host: String,
    folder: Folder,
    entries: String,
}

impl Served {
    /// One without tools, in front of a backend.
    pub fn by(backend: &Backend) -> Served {
        Served { host: backend.host(), folder: Folder::new(), entries: String::new() }
    }

    /// Adds a tool with frontmatter of its own, and the metadata that says how it is asked for. It may
    /// reach the backend, and its inputs and outputs are open objects unless said.
    pub fn tool(self, id: &str, frontmatter: &str, metadata: &str) -> Served {
        let Served { host, folder, entries } = self;
        let contract =
            contract(id, &format!("requires: {{ network: [\"{host}\"] }}\n{frontmatter}"));
        let entry = format!("  - {{ tool: {id}, version: ^1, metadata: {metadata} }}\n");
        let folder = folder.file(&format!(".tools/{id}/TOOL.md"), contract);
        Served { folder, entries: entries + &entry, host }
    }

    /// Adds a tool that is asked for at a path by a method; what it is given is the body.
    pub fn at(self, id: &str, frontmatter: &str, method: &str, path: &str) -> Served {
        let metadata = format!("{{ http: {{ method: {method}, endpoint: \"{path}\" }} }}");
        self.tool(id, frontmatter, &metadata)
    }

    /// The workspace, with more settings.
    pub fn with(self, settings: &str) -> Folder {
        let Served { host, folder, entries } = self;
        folder
            .file("haft.toml", format!("[workspace]\nname = \"shop\"\n{settings}"))
            .file(".drivers/shop/DRIVER.md", driver("shop", &host, &entries))
    }
}

/// A driver of kind http that sends everything to one host.
fn driver(id: &str, host: &str, entries: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: A shop.\nversion: 1.0.0\nkind: http\n\
         base_url: http://{host}\nnetwork: {{ egress: [\"{host}\"] }}\nimplements:\n{entries}---\n"
    )
}

/// A contract, its inputs and outputs open objects unless said.
fn contract(id: &str, frontmatter: &str) -> String {
    let mut text = format!(
        "---\nname: {id}\nid: {id}\ndescription: Does {id}.\nversion: 1.0.0\n{frontmatter}"
    );
    for key in ["inputs", "outputs"] {
        if !frontmatter.lines().any(|line| line.starts_with(&format!("{key}:"))) {
            text.push_str(&format!("{key}: {{ type: object }}\n"));
        }
    }
    text + "---\n"
}

/// A shop whose payments go to a backend. The backend may answer status queries, and may
/// deduplicate payments by their idempotency key.
pub fn payments(backend: &Backend, status: bool, keys: bool, timeout_ms: u64) -> Served {
    let patience = format!(
        "timeout_ms: {timeout_ms}\n\
         retry: {{ max_attempts: 4, backoff: exponential, initial_ms: 40 }}\n"
    );
    let lookup = "metadata: { haft: { status: { tool: pay.status, \
        input: { key: \"${idempotency.key}\" }, committed: \"output.state == 'done'\", \
        absent: \"output.state == 'none'\", output: { id: \"${output.id}\" } } } }\n";
    let pay = format!("{WRITE}{patience}{}", if status { lookup } else { "" });
    // The backend may read the idempotency key without enforcing it.
    let (header, enforced) = match (status, keys) {
        (_, true) => (", idempotency_key_header: Idempotency-Key", ""),
        (true, false) => {
            (", idempotency_key_header: Idempotency-Key", ", haft: { enforces_key: false }")
        }
        (false, false) => ("", ""),
    };
    let request = format!(
        "{{ http: {{ endpoint: /pay, method: POST, body_template: {{ order: \"${{input.order}}\" }}{header} }}{enforced} }}"
    );
    Served::by(backend).tool("pay", &pay, &request).at(
        "pay.status",
        &format!("{READ}{patience}"),
        "GET",
        "/status/${input.key}",
    )
}
