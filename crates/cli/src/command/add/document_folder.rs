//! Document folder: reads the files beside an OpenAPI document, and nothing outside of its folder.

use std::fs;
use std::path::{Path, PathBuf};

use haft_import::openapi::Bundle;
use haft_import::read_document;

/// How many files a document may have beside it.
const MOST_FILES: usize = 2_000;

/// How many bytes they may have together.
const MOST_BYTES: u64 = 128 << 20;

/// Adds every file that a document refers to; returns their texts. A file that cannot be read is
/// noted in the bundle, with the reason.
pub(super) fn add_files(bundle: &mut Bundle, document: &Path) -> String {
    let mut read = String::new();
    let mut files = 0;
    while let Some(path) = bundle.next_file() {
        files += 1;
        let left = MOST_BYTES.saturating_sub(read.len() as u64);
        let text = match files > MOST_FILES {
            true => Err(format!("the document has more than {MOST_FILES} files")),
            false => text(document, &path, left),
        };
        let parsed = text.and_then(|text| {
            let parsed = read_document(&path, &text).map_err(|error| error.to_string())?;
            Ok((parsed, text))
        });
        match parsed {
            Ok((parsed, text)) => {
                bundle.add(&path, parsed);
                read.push_str(&text);
            }
            Err(why) => bundle.refuse(&path, why),
        }
    }
    read
}

/// The text of a file below the folder of a document.
fn text(document: &Path, path: &str, most: u64) -> Result<String, String> {
    let found = real_path(document, path)?;
    let about = fs::metadata(&found).map_err(|_| "it cannot be read".to_owned())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > most {
        return Err(format!("the files of the document have more than {MOST_BYTES} bytes"));
    }
    fs::read_to_string(&found).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        _ => "it cannot be read".to_owned(),
    })
}

/// Where a file is once links are followed; an error where that is outside of the folder.
fn real_path(document: &Path, path: &str) -> Result<PathBuf, String> {
    let parent = document.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = parent.unwrap_or(Path::new(".")).canonicalize();
    let folder = folder.map_err(|_| "the folder of the document cannot be read".to_owned())?;
    let found = folder.join(path).canonicalize();
    let found = found.map_err(|_| "it is not there, or cannot be read".to_owned())?;
    match found.starts_with(&folder) {
        true => Ok(found),
        false => Err("it is a link that leads out of the folder of the document".to_owned()),
    }
}
