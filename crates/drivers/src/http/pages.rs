//! Pagination: requests the pages of a list in turn, and returns them as one response.
//!
//! The result is the last page with the items of all pages, so its cursor tells whether there is
//! more. Only reads are paginated, and only at the driver's own host.

use std::collections::BTreeSet;

use haft_contract::driver::manifest::Pagination;
use haft_driver::{Failure, Output};
use haft_model::{Code, Content, Progress, Stop};
use haft_notation::{Path, Template};
use reqwest::header::{HeaderMap, LINK};
use serde_json::Value;

use super::answer::ResponsePage;
use super::exchange::Exchange;
use super::request::PageRequest;
use crate::exact;
use crate::web::MOST_BYTES;

/// Page limit where the manifest sets no `most_pages`.
const USUAL_PAGES: usize = 20;

/// The pagination of an entry.
#[derive(Debug)]
pub(super) struct Pages {
    /// The path of the items in a page.
    items: Path,
    way: NextPage,
    limit: Option<Limit>,
    most: usize,
}

/// How the next page is requested.
#[derive(Debug)]
enum NextPage {
    /// By a cursor from the last response, in a query parameter.
    Cursor { next: Path, param: String },
    /// By a page number, in a query parameter.
    Page { param: String, start: u64 },
    /// By an item offset, in a query parameter.
    Offset { param: String, start: u64 },
    /// By a URL, in the response or its `Link` header.
    Link { next: Option<Path> },
}

/// The page size to request.
#[derive(Debug)]
struct Limit {
    param: Option<String>,
    value: u64,
}

impl Pages {
    /// Parses `pagination`, or says what is wrong with it.
    pub(super) fn read(
        written: &Pagination,
        query: &[(String, Template)],
    ) -> Result<Pages, String> {
        let path = |text: &String| Path::parse(text).map_err(|fault| fault.to_string());
        let next = written.next.as_ref().map(path).transpose()?;
        let param = || written.param.clone().ok_or("it has no `param`".to_owned());
        let way = match written.style.as_deref().unwrap_or("cursor") {
            "cursor" => {
                let next = next.ok_or("it does not say where `next` is")?;
                NextPage::Cursor { next, param: param()? }
            }
            "page" => NextPage::Page { param: param()?, start: written.start.unwrap_or(1) },
            "offset" => NextPage::Offset { param: param()?, start: written.start.unwrap_or(0) },
            "link" => NextPage::Link { next },
            other => return Err(format!("there is no style `{other}`")),
        };
        let counted = match &way {
            NextPage::Page { param, .. } | NextPage::Offset { param, .. } => Some(param),
            NextPage::Cursor { .. } | NextPage::Link { .. } => None,
        };
        let taken = [counted, written.limit_param.as_ref()].into_iter().flatten();
        if let Some(twice) =
            taken.into_iter().find(|name| query.iter().any(|(known, _)| known == *name))
        {
            return Err(format!("`{twice}` stands in `query_template` too"));
        }
        let limit = match (written.limit_param.clone(), written.limit) {
            (Some(_), None) => return Err("`limit_param` needs a `limit`".to_owned()),
            (param, Some(value)) => Some(Limit { param, value }),
            (None, None) => None,
        };
        let most = written.most_pages.unwrap_or(USUAL_PAGES).clamp(1, 1000);
        Ok(Pages { items: path(&written.items)?, way, limit, most })
    }

    /// The request of the first page.
    fn first(&self) -> PageRequest {
        let mut asked = PageRequest::default();
        match &self.way {
            NextPage::Page { param, start } | NextPage::Offset { param, start } => {
                asked.set(param, start.to_string());
            }
            NextPage::Cursor { .. } | NextPage::Link { .. } => {}
        }
        if let Some(Limit { param: Some(param), value }) = &self.limit {
            asked.set(param, value.to_string());
        }
        asked
    }

    /// The request of the page after this one; `None` after the last.
    fn after(&self, page: &ResponsePage, so_far: &SoFar) -> Option<PageRequest> {
        let mut asked = self.first();
        let full = self.limit.as_ref().is_none_or(|limit| so_far.last as u64 >= limit.value);
        let more = so_far.last > 0 && full;
        match &self.way {
            NextPage::Cursor { next, param } => asked.set(param, text(next.extract(&page.value)?)?),
            NextPage::Page { param, start } if more => {
                asked.set(param, (start + so_far.pages as u64).to_string());
            }
            NextPage::Offset { param, start } if more => {
                asked.set(param, (start + so_far.items.len() as u64).to_string());
            }
            NextPage::Page { .. } | NextPage::Offset { .. } => return None,
            NextPage::Link { next: Some(next) } => {
                asked.at = Some(text(next.extract(&page.value)?)?)
            }
            NextPage::Link { next: None } => asked.at = Some(page.next.clone()?),
        }
        Some(asked)
    }
}

/// The items collected so far.
#[derive(Default)]
struct SoFar {
    pages: usize,
    items: Vec<Value>,
    /// How many items the last page had.
    last: usize,
    bytes: usize,
}

/// Requests the pages in turn and merges them, up to the page limit.
pub(super) async fn collected(exchange: &Exchange<'_>, pages: &Pages) -> Result<Output, Failure> {
    let mut so_far = SoFar::default();
    let mut seen = BTreeSet::new();
    let mut asked = pages.first();
    loop {
        let mut page = exchange.page(&asked).await?;
        so_far.add(pages, &mut page).map_err(|stop| page.failed(exchange, stop))?;
        so_far.tell(exchange).await;
        let next = pages.after(&page, &so_far);
        let more = match next {
            None => false,
            Some(next) if so_far.pages < pages.most => {
                if seen.insert(next.clone()) {
                    asked = next;
                    continue;
                }
                // Some backends end a list by repeating the cursor of an empty page.
                if so_far.last > 0 {
                    let words = format!("`{}` points to a page that it gave already", page.host);
                    return Err(page.failed(exchange, Stop::new(Code::OutputInvalid, words)));
                }
                false
            }
            Some(_) => true,
        };
        return so_far.whole(exchange, pages, page, more);
    }
}

impl SoFar {
    /// Moves the items out of a page.
    fn add(&mut self, pages: &Pages, page: &mut ResponsePage) -> Result<(), Stop> {
        let host = &page.host;
        self.bytes += page.bytes;
        if self.bytes > MOST_BYTES {
            let words = format!("the pages of `{host}` have more than {MOST_BYTES} bytes");
            return Err(Stop::new(Code::ResultTooLarge, words));
        }
        let place = pages.items.place(&page.value);
        let found = place.and_then(|place| page.value.pointer_mut(&place));
        let Some(Value::Array(items)) = found else {
            let words = format!("`{host}` answered, and `pagination.items` finds no list in it");
            return Err(Stop::new(Code::OutputInvalid, words));
        };
        self.pages += 1;
        self.last = items.len();
        self.items.append(items);
        Ok(())
    }

    async fn tell(&self, exchange: &Exchange<'_>) {
        let (pages, items) = (self.pages, self.items.len());
        let progress = Progress {
            message: Some(format!("page {pages}, {items} items so far")),
            step_index: Some(pages as u64),
            ..Progress::default()
        };
        exchange.link().progress(progress).await;
    }

    /// The last page with the items of all pages.
    fn whole(
        self,
        exchange: &Exchange<'_>,
        pages: &Pages,
        mut page: ResponsePage,
        more: bool,
    ) -> Result<Output, Failure> {
        let place = pages.items.place(&page.value).unwrap_or_default();
        if let Some(items) = page.value.pointer_mut(&place) {
            *items = Value::Array(self.items);
        }
        let mut output = page.output(exchange)?;
        if more {
            let words = format!("there are more pages; the first {} are here", self.pages);
            let value = output.structured.clone().map(|data| Content::StructuredContent { data });
            output.content.extend(value);
            output.content.push(Content::text(words));
        }
        Ok(output)
    }
}

/// The cursor or URL of the next page; `None` where it is empty.
fn text(found: Value) -> Option<String> {
    match found {
        Value::String(text) => {
            let text = exact::digits(&text).map(str::to_owned).unwrap_or(text);
            (!text.is_empty()).then_some(text)
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The URL with `rel="next"` in a `Link` header.
pub(super) fn next_link(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all(LINK).iter().filter_map(|line| line.to_str().ok());
    for link in lines.flat_map(|line| line.split(", <")) {
        let (place, about) = link.trim_start_matches('<').split_once('>')?;
        let is_next = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or_default();
            let mut words = value.trim().trim_matches('"').split_whitespace();
            name.trim().eq_ignore_ascii_case("rel") && words.any(|word| word == "next")
        };
        if about.split([';', ',']).any(is_next) {
            return Some(place.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_next_link_is_found_among_others() {
        for (lines, expected) in [
            (vec!["<https://a.example/?p=2>; rel=\"next\""], Some("https://a.example/?p=2")),
            (vec!["</?p=1>; rel=prev, </?a=1,2>; title=\"x\"; rel=\"last next\""], Some("/?a=1,2")),
            (vec!["</1>; rel=\"prev\"", "</3>; REL=next"], Some("/3")),
            (vec!["</1>; rel=\"prev\""], None),
            (vec!["no link at all"], None),
            (vec![], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in &lines {
                headers.append(LINK, HeaderValue::from_static(line));
            }
            assert_eq!(next_link(&headers).as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_reason() {
        let query = [("page".to_owned(), Template::parse("1").unwrap())];
        for (written, why) in [
            (json!({"items": "$.a", "param": "c"}), "it does not say where `next` is"),
            (json!({"items": "$.a", "next": "$.n"}), "it has no `param`"),
            (
                json!({"style": "page", "items": "$.a", "param": "page"}),
                "`page` stands in `query_template` too",
            ),
            (
                json!({"style": "link", "items": "$.a", "limit_param": "n"}),
                "`limit_param` needs a `limit`",
            ),
            (json!({"style": "book", "items": "$.a"}), "there is no style `book`"),
        ] {
            let written: Pagination = serde_json::from_value(written).unwrap();
            assert_eq!(Pages::read(&written, &query).unwrap_err(), why);
        }
    }
}
