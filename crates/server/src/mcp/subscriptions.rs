//! Subscriptions: `subscriptions/listen`, the changes that a client of 2026-07-28 asks for.

use haft_driver::BackendNews;
use rmcp::model::{
    GetMeta as _, NotificationMetaObject, RequestId, ServerNotification, SubscriptionFilter,
    SubscriptionsAcknowledgedNotification, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};

use super::change_feed::{self, ChangeFeed};
use super::dispatch::Dispatcher;
use super::listing::LastSeenList;
use super::protocol;
use super::requester::Requester;

impl Dispatcher {
    /// Acknowledges a subscription, and sends its changes until its client or the server ends it.
    pub(super) async fn listen(
        &self,
        params: SubscriptionsListenRequestParams,
        by: &Requester,
    ) -> SubscriptionsListenResult {
        let accepted = params.notifications.supported_by(&protocol::capabilities());
        let seen = LastSeenList::new(&self.desk, by.actor.clone(), by.scope());
        // Subscribed before it is acknowledged, so that no change after that is missed.
        let mut feed = ChangeFeed::new(&self.desk, seen);
        by.outbox.notify(acknowledged(accepted.clone(), &by.id)).await;
        loop {
            let changed = tokio::select! {
                changed = feed.next() => changed,
                () = by.cancelled() => None,
                () = self.closing.cancelled() => None,
            };
            let Some(changed) = changed else { break };
            if is_accepted(&accepted, &changed) {
                let mut notification = change_feed::notification(changed);
                notification.get_meta_mut().set_subscription_id(by.id.clone());
                by.outbox.notify(notification).await;
            }
        }
        let mut result = SubscriptionsListenResult::complete(by.id.clone());
        result.meta.set_server_info(protocol::implementation());
        result
    }
}

/// The first message of a subscription.
fn acknowledged(accepted: SubscriptionFilter, id: &RequestId) -> ServerNotification {
    let params = SubscriptionsAcknowledgedNotificationParams::new(accepted);
    let mut notification = SubscriptionsAcknowledgedNotification::new(params);
    let mut meta = NotificationMetaObject::new();
    meta.set_subscription_id(id.clone());
    notification.extensions.insert(meta);
    ServerNotification::SubscriptionsAcknowledgedNotification(notification)
}

/// Whether a subscription asks for a change.
fn is_accepted(filter: &SubscriptionFilter, changed: &BackendNews) -> bool {
    match changed {
        BackendNews::Tools => filter.tools_list_changed == Some(true),
        BackendNews::Prompts => filter.prompts_list_changed == Some(true),
        BackendNews::Resources => filter.resources_list_changed == Some(true),
        BackendNews::Resource(uri) => {
            filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.contains(uri))
        }
    }
}
