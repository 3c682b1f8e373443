//! Example shop test: the shop, set up by its own script and run against its real backends: git,
//! its services, MCP servers of npm and PyPI, and functions of packages.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::stage::{command, finished, json as answer, run, started};

const KEYS: [(&str, &str); 2] =
    [("SHOP_PAYMENTS_KEY", "payments-key-of-a-test"), ("SHOP_ORDERS_KEY", "orders-key-of-a-test")];

/// What git ignores of the shop.
const LEFT: [&str; 5] = [".haft", ".venv", "node_modules", "storefront", "graph.jsonl"];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop")
}

/// Everything that the repository has of the shop.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if LEFT.iter().any(|left| name == *left) {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(name)),
            false => drop(fs::copy(entry.path(), to.join(name)).unwrap()),
        }
    }
}

fn ran(command: &mut Command) {
    let ended = command.stdin(Stdio::null()).output().unwrap();
    assert!(ended.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&ended.stderr));
}

/// A folder where the shop's packages are, installed at first use by the shop's own script.
fn installed() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign-shop");
        fs::create_dir_all(&place).unwrap();
        // Each test may be a process of its own.
        let lock = File::create(place.join("lock")).unwrap();
        lock.lock().unwrap();
        let wanted = ["setup", "package.json", "requirements.txt"]
            .map(|name| fs::read_to_string(example().join(name)).unwrap());
        let mark = place.join("installed");
        if fs::read_to_string(&mark).ok() != Some(wanted.concat()) {
            copy(&example(), &place);
            ran(&mut Command::new(place.join("setup")));
            fs::write(mark, wanted.concat()).unwrap();
        }
        place
    })
}

/// A copy of the shop of a test's own, set up. Its packages are links to those that are installed, or
/// copies where there can be none.
fn set_up() -> Folder {
    let folder = Folder::new();
    copy(&example(), folder.path());
    for packages in ["node_modules", ".venv"] {
        let source = installed().join(packages);
        let linked = Command::new("cp").arg("-al").arg(&source).arg(folder.path()).output();
        if !linked.is_ok_and(|ended| ended.status.success()) {
            ran(Command::new("cp").arg("-a").arg(&source).arg(folder.path()));
        }
    }
    ran(Command::new("cp").arg("-a").arg(installed().join("storefront")).arg(folder.path()));
    folder
}

/// The services of a shop until they are dropped.
struct Services {
    child: Child,
    /// Open for as long as they speak.
    _said: BufReader<ChildStdout>,
}

impl Services {
    /// Starts them on ports of their own, which the shop is told.
    fn of(folder: &Folder) -> Services {
        let script = folder.path().join("services/shop.py");
        let mut python = Command::new("python3");
        python.arg("-u").arg(script).args(["--ports", "0,0,0"]).envs(KEYS);
        let mut child = python.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        let services = Services { child, _said: said };
        let found: Vec<&str> = line.split_whitespace().filter(|word| word.contains(':')).collect();
        assert_eq!(found.len(), 3, "{line}");
        let hosts = ["127.0.0.1:8931", "127.0.0.1:8932", "127.0.0.1:8933"];
        let told = |text: String| {
            let both = hosts.iter().zip(&found);
            both.fold(text, |text, (from, to)| text.replace(from, to.trim_end_matches(',')))
        };
        for part in [".drivers", ".tools"] {
            for entry in fs::read_dir(folder.path().join(part)).unwrap() {
                for name in ["DRIVER.md", "TOOL.md"] {
                    let file = entry.as_ref().unwrap().path().join(name);
                    let Ok(text) = fs::read_to_string(&file) else { continue };
                    fs::write(file, told(text)).unwrap();
                }
            }
        }
        // What was accepted is the usual ports.
        fs::remove_file(folder.path().join("haft.lock")).unwrap();
        services
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a call comes to, and by which driver.
#[track_caller]
fn called(folder: &Folder, line: &str) -> (String, Value) {
    came(folder, &format!("call {line} --as agent:shopkeeper --no-wait --json"))
}

#[track_caller]
fn came(folder: &Folder, line: &str) -> (String, Value) {
    let ended = finished(started(keyed(folder, line)), line);
    let said = String::from_utf8(ended.stdout).unwrap();
    let envelope: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{line}\n{said}"));
    assert_eq!(envelope["status"], "succeeded", "haft {line}\n{envelope:#}");
    (envelope["driver"].as_str().unwrap().to_owned(), envelope["structured_content"].clone())
}

/// The command, with the keys of the services in its environment.
fn keyed(folder: &Folder, line: &str) -> Command {
    let mut command = command(folder, line);
    command.envs(KEYS);
    command
}

/// The same for a call that a person has to agree to.
#[track_caller]
fn approved(folder: &Folder, line: &str) -> (String, Value) {
    approved_of(folder, line, "ana")
}

/// The same for an agent's call that the named person approves.
#[track_caller]
fn approved_of(folder: &Folder, line: &str, somebody: &str) -> (String, Value) {
    let line = format!("call {line} --as agent:shopkeeper --no-wait --json");
    let mut asking = keyed(folder, &line);
    asking.env("USER", somebody);
    let waits: Value = serde_json::from_slice(&asking.output().unwrap().stdout).unwrap();
    let question = waits["approval_id"].as_str().unwrap_or_else(|| panic!("{waits:#}"));
    came(folder, &format!("approve {question} --json"))
}

/// The argument for a whole input, which may have spaces in it.
fn given(folder: &Folder, input: &str) -> String {
    let file = folder.path().join("input.json");
    fs::write(&file, input).unwrap();
    format!("--input @{}", file.display())
}

#[track_caller]
fn by<T: Into<Value>>(driver: &str, value: T) -> (String, Value) {
    (driver.to_owned(), value.into())
}

#[test]
fn git_files_and_repository_servers_share_the_same_pages() {
    let folder = set_up();
    let text = "# Walnut tray\n\nA tray of oiled walnut.\n";
    let read = "page.read page=walnut-tray.md";
    assert_eq!(called(&folder, read), by("pages-mcp", json!({"content": text})));
    assert_eq!(called(&folder, "git.status"), by("git", json!({"text": ""})));
    let written = approved(&folder, "page.write page=walnut-tray.md content=Walnut.");
    assert_eq!(written.0, "pages-mcp");
    assert_eq!(called(&folder, read), by("pages-mcp", json!({"content": "Walnut."})));
    assert_eq!(called(&folder, "git.status"), by("git", json!({"text": " M walnut-tray.md\n"})));
    let (driver, said) = approved(&folder, "git.commit message=shorter");
    assert_eq!(driver, "git");
    assert!(said["text"].as_str().unwrap().contains("1 file changed"), "{said}");
    let (_, log) = called(&folder, "git.log");
    let subjects: Vec<&str> =
        log["text"].as_str().unwrap().lines().map(|line| &line[8..]).collect();
    assert_eq!(subjects, ["shorter", "The first page"]);
    let (_, patch) = called(&folder, "git.diff from=HEAD~1");
    assert!(patch["text"].as_str().unwrap().contains("+Walnut."), "{patch}");
    assert_eq!(called(&folder, "git.branches"), by("git-mcp", json!({"text": "* main"})));
}

#[test]
fn what_is_remembered_is_there_for_the_next_process() {
    let folder = set_up();
    let ines = json!({"name": "Ines", "entityType": "customer", "observations": ["likes ash"]});
    let input = json!({"entities": [ines]}).to_string();
    let (driver, added) = approved(&folder, &format!("memory.add {}", given(&folder, &input)));
    assert_eq!((driver.as_str(), &added["entities"]), ("memory-mcp", &json!([ines])));
    let found = called(&folder, "memory.search query=ash");
    assert_eq!(found, by("memory-mcp", json!({"entities": [ines], "relations": []})));
    assert!(folder.read("memory/graph.jsonl").contains("Ines"));
}

#[test]
fn functions_of_npm_and_pypi_serve_the_same_contract() {
    let folder = set_up();
    let input = given(&folder, r#"{"title": "Crème brûlée torch"}"#);
    for driver in ["slugs-npm", "slugs-pypi"] {
        let line = format!("text.slug {input} --pin {driver}");
        assert_eq!(called(&folder, &line), by(driver, json!({"slug": "creme-brulee-torch"})));
    }
}

/// Three kinds of driver stand behind one tool, and one line says which of them serves it.
#[test]
fn default_implementation_switches_tool_between_three_driver_kinds() {
    let folder = set_up();
    let contract = folder.path().join(".tools/time.now-in/TOOL.md");
    let text = fs::read_to_string(&contract).unwrap();
    for driver in ["clock-cli", "clock-mcp", "clock-npm"] {
        let line = format!("default_implementation: {driver}\n");
        fs::write(&contract, text.replace("default_implementation: clock-cli\n", &line)).unwrap();
        let (by, said) = called(&folder, "time.now-in timezone=Asia/Tokyo");
        assert_eq!(by, driver);
        assert!(said["time"].as_str().unwrap().ends_with("+09:00"), "{said}");
    }
}

#[test]
fn the_services_of_the_shop_take_money_and_orders() {
    let folder = set_up();
    let _services = Services::of(&folder);
    let (driver, order) = called(&folder, "order.get order=ord-1002");
    assert_eq!((driver.as_str(), &order["state"]), ("shop-orders-http", &json!("open")));
    let (_, listed) = called(&folder, "order.list state=open");
    assert_eq!(listed["orders"].as_array().unwrap().len(), 3);
    let cancel = approved(&folder, "order.cancel order=ord-1002 reason=returned");
    let canceled = json!({"order": "ord-1002", "state": "canceled"});
    assert_eq!(cancel, by("shop-orders-http", canceled));
    let charge = "payment.charge order=ord-1003 amount=7400 card=card-visa01";
    // The person who lets an agent ask for money may not approve it.
    let charged = approved_of(&folder, charge, "eve");
    let paid = json!({"id": "ch-5001", "state": "charged"});
    assert_eq!(charged, by("shop-payments-http", paid));
    let refund = approved(&folder, "payment.refund charge=ch-5001 reason=returned");
    assert_eq!(refund, by("shop-payments-http", json!({"id": "re-7001", "state": "refunded"})));
}

#[test]
fn shop_without_packages_checks_clean_and_reports_setup_required() {
    let folder = Folder::new();
    copy(&example(), folder.path());
    let checked = String::from_utf8(run(&folder, "check").stdout).unwrap();
    assert!(checked.ends_with("no errors, no warnings\n"), "{checked}");
    for call in ["text.slug title=x", "memory.search query=x", "git.branches"] {
        let line = format!("call {call} --as agent:shopkeeper --no-wait --json");
        let (exit, refused) = answer(&folder, &line);
        let code = &refused["error"]["error_code"];
        assert_eq!((exit, code), (1, &json!("setup.required")), "{call}\n{refused:#}");
    }
}
