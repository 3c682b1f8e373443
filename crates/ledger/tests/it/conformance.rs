//! Store conformance suite: one list of cases, run for each store.

mod cases;
mod damage;
mod intents;
mod lists;
mod outage;
mod processes;
mod records;
mod tokens;
mod undoing;

use haft_ledger::{MemoryStore, SqliteOptions, SqliteStore};
use haft_testkit::Folder;

macro_rules! every_store {
    ($($module:ident::$case:ident,)*) => {
        mod memory {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $module::$case(&MemoryStore::new()).await;
            })*
        }

        mod sqlite {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let folder = Folder::new();
                let options = SqliteOptions::at(folder.path());
                let store = SqliteStore::open(options.clone()).unwrap();
                $module::$case(&store).await;
                store.close().await.unwrap();
                damage::sound(&options);
            })*
        }
    };
}

every_store! {
    cases::entries_come_out_in_order_and_form_one_chain,
    cases::time_never_goes_back,
    cases::a_fence_keeps_out_whoever_lost_the_lease,
    cases::nobody_answers_twice_or_too_late,
    cases::nothing_follows_an_end,
    cases::a_declaration_is_written_once,
    cases::a_standing_answer_stands_until_it_is_taken_back,
    tokens::a_token_is_found_by_its_hash_until_it_is_taken_back,
    cases::a_lease_is_exclusive_runs_out_and_is_given_back,
    cases::a_lease_of_one_boot_is_judged_by_it_alone,
    cases::payloads_come_back_as_they_were,
    cases::what_is_forgotten_is_gone_and_its_entry_stays,
    cases::bytes_that_are_not_those_of_their_digest_are_refused,
    cases::numbers_are_doubles_for_everybody,
    cases::waiting_ends_with_the_next_entry_or_with_the_time,
    cases::sixty_four_may_append_at_once,
    cases::what_is_queued_is_there_after_a_flush,
    intents::an_intent_has_one_call_that_carries_it_out,
    intents::an_intent_without_a_key_is_known_until_its_answer_is_handed_over,
    intents::keyless_intent_told_as_unknown_stays_although_settled_meanwhile,
    intents::a_lease_outlives_the_end_of_its_call_and_is_not_taken_after_it,
    lists::runs_are_listed_newest_first_and_in_pages,
    lists::runs_are_filtered,
    lists::a_run_follows_its_facts,
    lists::questions_follow_their_facts,
    lists::uses_are_the_attempts_that_began,
    lists::a_story_holds_the_entries_of_one_call,
    undoing::an_effect_is_settled_after_the_end_and_once,
    undoing::a_run_follows_the_calls_that_undo_it,
    undoing::whoever_undoes_and_did_not_tell_is_listed,
}
