//! Unsafe GET detection: finds a GET whose name, summary or path says that it changes something.
//!
//! HTTP calls GET safe, and some documents do not: `GET /sms/send`, `GET /?Action=TerminateInstances`.
//! A verb counts where a command has its verb: at the head of the last part of the operation id, of
//! the summary, and of the last fixed segment of the path. A noun there (`/runs`, `getRun`,
//! `listDeletedItems`, `Update history`) is no command.

use crate::text;

/// Verbs that change something and are rarely nouns.
const VERBS: &str = " abort accept acknowledge activate add allocate append apply approve assign \
    associate attach authorize ban cancel clear clone confirm create deactivate deallocate decline \
    decrement delete deploy deprovision deregister destroy detach disable disassociate disconnect \
    dismiss edit eject enable enqueue erase exec execute expire finish flush generate grant halt \
    increment initialize initiate insert install invalidate invite invoke kill launch logout modify \
    mute overwrite promote provision publish purge reactivate reboot rebuild recalculate redeem \
    regenerate register reject reload remove rename renew reopen replace reprocess resend reset \
    resize restart restore resume retry revert revoke rollback rotate send shutdown submit subscribe \
    suspend swap terminate toggle trigger truncate unarchive unassign unban unblock undelete undeploy \
    undo unfollow uninstall unlink unlock unmute unpublish unregister unsubscribe update upsert vote \
    wipe withdraw write ";

/// Verbs that are as often nouns: they count only where something else shows that they are verbs.
const NOUNS_TOO: &str = " archive block book buy change charge close commit complete connect copy \
    drop empty force import issue join leave lock mark merge migrate move notify open order patch \
    pause pay place post purchase put recover refresh refund release reorder run save sell set share \
    sign skip start stop switch sync synchronize transfer trash turn upgrade upload ";

/// Those of them that are verbs at the head of a name of several words, such as `startTraining`.
const VERBS_IN_NAMES: &str = " buy close connect copy import lock merge move pause pay post put \
    refund run set start stop transfer upload ";

/// Verbs of reading, which make nouns of what follows them.
const READS: &str = " browse can check checks count describe download fetch fetches find finds get \
    gets has head inspect is list lists lookup obtain query read reads retrieve retrieves return \
    returns search searches show shows test validate verify view ";

/// Nouns that make one of the verb before them: `update history`, `run status`.
const QUALIFIED: &str = " config configuration count date event events group groups histories \
    history info information job jobs list log logs note notes operation operations option options \
    policies policy reason reasons report reports request requests result results rule rules run runs \
    setting settings state states statistics stats status statuses task tasks time token tokens type \
    types url urls ";

const DETERMINERS: &str = " a all an any each every existing given multiple new one some specified \
    that the these this your ";

const PREPOSITIONS: &str = " and by for from in of on or to with ";

/// Verbs whose effect cannot be had back.
const IRREVERSIBLE: &str =
    " delete destroy drop erase kill purge remove terminate trash truncate uninstall wipe ";

/// A word of a document that says that a GET changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnsafeGet {
    pub(super) verb: String,
    /// The part of the operation that holds the verb.
    pub(super) place: &'static str,
}

impl UnsafeGet {
    pub(super) fn is_irreversible(&self) -> bool {
        has(IRREVERSIBLE, &self.verb)
    }
}

/// The verb by which a GET says that it changes something, if it says so.
pub(super) fn detect(path: &str, id: Option<&str>, summary: Option<&str>) -> Option<UnsafeGet> {
    let id = OperationId::read(id.unwrap_or_default());
    let summary = words(summary.unwrap_or_default());
    let summary_reads = summary.first().is_some_and(|head| has(READS, head));
    let found = |place: &'static str| move |verb: String| UnsafeGet { verb, place };
    let reads = id.reads || summary_reads;
    action(path)
        .map(found("path"))
        .or_else(|| id.verb(summary_reads).map(found("operation id")))
        .or_else(|| in_summary(&summary).map(found("summary")))
        .or_else(|| in_path(path).filter(|_| !reads).map(found("path")))
}

/// The words of an operation id that may hold its verb.
struct OperationId {
    words: Vec<String>,
    /// Whether it begins with the method, as in `GET_Refund`, so that a noun may follow.
    is_marked: bool,
    reads: bool,
}

impl OperationId {
    fn read(id: &str) -> OperationId {
        let (id, is_marked) = match id.strip_prefix("GET_") {
            Some(rest) => (rest, true),
            None => (id, false),
        };
        let parts: Vec<&str> = id.split(['.', '/', ':', '#']).filter(|p| !p.is_empty()).collect();
        let last = parts.last().copied().unwrap_or_default();
        // `Group_Action` names a group first; `delete_user` is one name.
        let has_case = last.contains(|c: char| c.is_ascii_uppercase())
            && last.contains(|c: char| c.is_ascii_lowercase());
        let names = last.split(|c: char| has_case && c == '_').map(words);
        let names: Vec<Vec<String>> = names.filter(|name| !name.is_empty()).collect();
        let begins = words(parts.first().copied().unwrap_or_default());
        let mut heads = names.iter().chain([&begins]).filter_map(|name| name.first());
        let reads = heads.any(|head| has(READS, head));
        OperationId { words: names.last().cloned().unwrap_or_default(), is_marked, reads }
    }

    fn verb(&self, summary_reads: bool) -> Option<String> {
        let head = self.words.first().filter(|_| !self.reads && !is_noun(&self.words))?;
        let certain = has(VERBS, head) && !(self.is_marked && summary_reads);
        let in_name = has(VERBS_IN_NAMES, head) && self.words.len() > 1 && !summary_reads;
        (certain || in_name).then(|| head.clone())
    }
}

/// The verb of an RPC action in a path: `/?Action=TerminateInstances`.
fn action(path: &str) -> Option<String> {
    let (_, action) = path.split_once("Action=")?;
    let verb = words(action).into_iter().next()?;
    is_verb(&verb).then_some(verb)
}

/// The verb of a summary: an imperative, or the third person where an object follows.
fn in_summary(words: &[String]) -> Option<String> {
    let head = words.first()?;
    let next = words.get(1).map(String::as_str).unwrap_or_default();
    // `Invoke function …` is how OData announces functions, which have no effects.
    if has(VERBS, head) && !is_noun(words) && head != "invoke" {
        return Some(head.clone());
    }
    let stems = [Some(head.as_str()), head.strip_suffix('s'), head.strip_suffix("es")];
    let has_object = has(DETERMINERS, next);
    let is_sentence = !next.is_empty() && !has(PREPOSITIONS, next) && !is_noun(words);
    let stems = stems.into_iter().flatten();
    let verb = |stem: &&str| has_object && is_verb(stem);
    let third = |stem: &&str| is_sentence && *stem != head && has(VERBS, stem);
    stems.clone().find(verb).or_else(|| stems.clone().find(third)).map(str::to_owned)
}

/// The verb of a path: of its last fixed segment, or the whole of one that follows a resource.
fn in_path(path: &str) -> Option<String> {
    let plain = path.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<&str> = plain.split('/').filter(|segment| !segment.is_empty()).collect();
    let at = segments.iter().rposition(|segment| !segment.contains('{'))?;
    let segment = words(segments.get(at)?);
    let head = segment.first()?;
    if has(VERBS, head) && !is_noun(&segment) {
        return Some(head.clone());
    }
    let after_resource = at.checked_sub(1).and_then(|at| segments.get(at))?.contains('{');
    let is_last = at + 1 == segments.len() && segment.len() == 1;
    (after_resource && is_last && has(NOUNS_TOO, head)).then(|| head.clone())
}

fn words(text: &str) -> Vec<String> {
    let slug = text::slug(text);
    slug.split('-').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a verb is only the first half of a noun.
fn is_noun(words: &[String]) -> bool {
    matches!(words, [_, second] if has(QUALIFIED, second))
}

fn is_verb(word: &str) -> bool {
    has(VERBS, word) || has(NOUNS_TOO, word)
}

/// Whether a list of words between spaces holds a word.
fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| !listed.is_empty() && listed == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, id: &str, summary: &str, expected: &str) {
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let (id, summary) = (id.to_owned().leak(), summary.to_owned().leak());
        let found = detect(path, some(id), some(summary));
        let told = found.map(|found| format!("{} of the {}", found.verb, found.place));
        assert_eq!(told.unwrap_or_default(), expected, "{path} {id} {summary}");
    }

    #[test]
    fn get_that_says_it_changes_is_found() {
        check("/#Action=TerminateInstances", "GET_TerminateInstances", "", "terminate of the path");
        check("/#Action=PurchaseOffer", "GET_PurchaseOffer", "", "purchase of the path");
        check("/deletePad", "deletePadUsingGET", "deletes a pad", "delete of the operation id");
        check("/a", "contacts.persons.restore", "", "restore of the operation id");
        check("/a", "Devices_Reset", "", "reset of the operation id");
        check("/a", "delete_user", "", "delete of the operation id");
        check("/a", "startTraining", "Start Training", "start of the operation id");
        check("/sms/send", "", "", "send of the path");
        check("/users/resendWelcomeSms", "", "", "resend of the path");
        check("/pods/{name}/exec", "connectPodExec", "", "connect of the operation id");
        check("/pods/{name}/exec", "", "", "exec of the path");
        check("/meetings/{id}/start", "", "", "start of the path");
        check("/report/{id}/run", "GetOutput", "Runs the report", "run of the summary");
        check("/cookies", "", "Deletes cookie(s) of the query", "delete of the summary");
        check("/key", "", "Create an API key", "create of the summary");
        check("/forms/undelete/{id}", "", "", "undelete of the path");
    }

    #[test]
    fn get_with_a_change_as_noun_is_safe() {
        check("/runs", "", "", "");
        check("/runs/{id}", "getRun", "Get a run", "");
        check("/items/deleted", "listDeletedItems", "", "");
        check("/updates", "", "Update history", "");
        check("/updates", "", "Updates for an app", "");
        check("/jobs/import", "GetImportJobs", "", "");
        check("/StopPoint/Type/{types}", "StopPoint_GetByType", "Gets all stop points", "");
        check("/refunds/{id}", "GET_Refund", "Retrieve a refund", "");
        check("/restorePoints/{name}", "RestorePoints_Get", "", "");
        check("/x.delta()", "users.delta", "Invoke function delta", "");
        check("/devices/upgrade", "listUpgrades", "listUpgrades", "");
        check("/order", "", "Lists all orders.", "");
        check("/{format}/Schedule/{round}", "Schedule", "Schedule", "");
        check("/#Action=DescribeInstances", "GET_DescribeInstances", "", "");
        check("/updates/count", "Get.Count.updatePolicies-27c8", "Get the number", "");
    }
}
