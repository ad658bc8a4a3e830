//! GitHub's events: for each what it is about and when it happened. A table, no code to speak of.
//!
//! Sources: GitHub's `OpenAPI` description of webhooks (@octokit/openapi-webhooks 12.1.0, 75 events) for which fields there
//! are, and the example payloads of octokit/webhooks (commit 3a58428) for how times are written. All times are whole
//! seconds unless said otherwise. Ids are used and never names: names change. docs/providers.md shows the table.

use super::super::{
    history::Step::{self, Chain, Deleted, Number, Of, Status, Time},
    subject::{
        EventRow, KeyTemplate,
        Part::{self, Field, FullRef},
    },
};

/// `name => [(namespace, [part, …]), …], [time, …], [step, …];` where the last list may be left out: then it is the time.
macro_rules! events {
    ($($name:literal => [$(($namespace:literal, [$($part:expr),+])),*], [$($time:literal),*] $(, $version:tt)?;)+) => {
        &[$(EventRow {
            name: $name,
            keys: &[$(KeyTemplate { namespace: $namespace, parts: &[$($part),+] }),*],
            times: &[$($time),*],
            version: events!(@version $($version)?),
        }),+]
    };
    (@version) => { &[Time] };
    (@version [$($step:expr),*]) => { &[$($step),*] };
}

/// Not to be compared: these events ask for something or add something, and none replaces another.
const NEVER_STALE: &[Step] = &[];

/// The repository's id: its name may change.
const REPO: Part = Field("repository.id");

/// An event that the table does not know is about its repository, if it has one: too much waits rather than too little.
static UNKNOWN: EventRow = EventRow {
    name: "",
    keys: &[KeyTemplate { namespace: "repository", parts: &[REPO] }],
    times: &[],
    version: NEVER_STALE,
};

/// The row of an event; for a name that the table does not know, a row without name.
pub(super) fn row_of(name: &str) -> &'static EventRow {
    EVENTS.binary_search_by(|row| row.name.cmp(name)).map_or(&UNKNOWN, |place| &EVENTS[place])
}

/// Every event of GitHub, sorted by name.
#[rustfmt::skip]
pub(in crate::provider) static EVENTS: &[EventRow] = events! {
    "branch_protection_configuration" => [("branch_protection", [REPO])], [];
    // Times with milliseconds and a local offset.
    "branch_protection_rule" => [("branch_protection_rule", [Field("rule.id")])], ["rule.updated_at"],
        [Time, Deleted];
    // A check run has no updated_at. Several run at once for one commit, so each is a subject of its own.
    "check_run" => [("check_run", [Field("check_run.id")])],
        ["check_run.completed_at", "check_run.started_at", "check_run.check_suite.updated_at"],
        [Status("check_run.status"), Time];
    "check_suite" => [("check_suite", [Field("check_suite.id")])], ["check_suite.updated_at"],
        [Time, Status("check_suite.status")];
    // Alerts are numbered within their repository.
    "code_scanning_alert" => [("code_scanning_alert", [REPO, Field("alert.number")])],
        ["alert.updated_at", "alert.fixed_at", "alert.dismissed_at", "alert.created_at"];
    "commit_comment" => [("commit_comment", [REPO, Field("comment.id")])], ["comment.updated_at"];
    // The short name and its kind here, the full name in a push: made equal, for each of these comes with a push.
    "create" => [("ref", [REPO, FullRef])], ["repository.pushed_at"];
    "custom_property" => [("custom_property", [Field("definition.property_name")])], [];
    "custom_property_values" => [("repository", [REPO])], [];
    "delete" => [("ref", [REPO, FullRef])], ["repository.pushed_at"];
    "dependabot_alert" => [("dependabot_alert", [REPO, Field("alert.number")])],
        ["alert.updated_at", "alert.created_at"];
    "deploy_key" => [("deploy_key", [Field("key.id")])], ["key.created_at"], [Time, Deleted];
    "deployment" => [("deployment", [Field("deployment.id")])], ["deployment.updated_at"];
    // The deployment is not always there.
    "deployment_protection_rule" => [("deployment", [Field("deployment.id")]), ("repository", [REPO])],
        ["deployment.updated_at"], [];
    "deployment_review" => [("workflow_run", [Field("workflow_run.id")]), ("repository", [REPO])],
        ["workflow_run.updated_at"], [];
    // Each status is a new object; they belong in order with their deployment.
    "deployment_status" => [("deployment", [Field("deployment.id")])],
        ["deployment_status.created_at", "deployment.updated_at"], [Time, Number("deployment_status.id")];
    "discussion" => [("discussion", [Field("discussion.id")])], ["discussion.updated_at"], [Time, Deleted];
    "discussion_comment" => [("discussion", [Field("discussion.id")])],
        ["comment.updated_at", "discussion.updated_at"], [Time, Deleted, Of("comment.id")];
    "fork" => [("repository", [REPO])], ["forkee.created_at"], [];
    "github_app_authorization" => [("github_app_authorization", [Field("sender.id")])], [];
    // One delivery may name many pages, so the wiki is the subject.
    "gollum" => [("wiki", [REPO])], [];
    // Seconds since 1970 here, though the schema allows text.
    "installation" => [("installation", [Field("installation.id")])], ["installation.updated_at"], [Time, Deleted];
    // The installation's updated_at need not move with these.
    "installation_repositories" => [("installation", [Field("installation.id")])], [];
    "installation_target" => [("account", [Field("account.id")])], ["account.updated_at"];
    "issue_comment" => [("issue", [Field("issue.id")])], ["comment.updated_at", "issue.updated_at"],
        [Time, Deleted, Of("comment.id")];
    "issue_dependencies" => [("issue", [Field("blocked_issue.id")]), ("issue", [Field("blocked_issue_id")])],
        ["blocked_issue.updated_at"], [];
    "issues" => [("issue", [Field("issue.id")])], ["issue.updated_at"], [Time, Deleted];
    "label" => [("label", [Field("label.id")])], [];
    "marketplace_purchase" => [("marketplace_account", [Field("marketplace_purchase.account.id")])],
        ["effective_date"];
    // repository.updated_at has nothing to do with a change of members.
    "member" => [("member", [REPO, Field("member.id")])], [];
    "membership" => [("membership", [Field("team.id"), Field("member.id")])], [];
    // A merge group has neither id nor updated_at; its head ref is unique.
    "merge_group" => [("merge_group", [REPO, Field("merge_group.head_ref")])], ["merge_group.head_commit.timestamp"];
    // The hook itself was deleted.
    "meta" => [("hook", [Field("hook_id")])], ["hook.updated_at"];
    "milestone" => [("milestone", [Field("milestone.id")])], ["milestone.updated_at"], [Time, Deleted];
    "org_block" => [("org_block", [Field("organization.id"), Field("blocked_user.id")])], [];
    "organization" => [
        ("organization", [Field("organization.id"), Field("membership.user.id")]),
        ("organization", [Field("organization.id"), Field("user.id")]),
        ("organization", [Field("organization.id")])], [];
    // A version's updated_at can be 0001-01-01T00:00:00Z, which is no time.
    "package" => [("package", [Field("package.id")])],
        ["package.updated_at", "package.package_version.updated_at"];
    "page_build" => [("pages", [REPO])], ["build.updated_at"];
    "personal_access_token_request" =>
        [("personal_access_token_request", [Field("personal_access_token_request.id")])],
        ["personal_access_token_request.created_at"];
    "ping" => [("hook", [Field("hook_id")])], ["hook.updated_at"];
    "project" => [("project", [Field("project.id")])], ["project.updated_at"], [Time, Deleted];
    "project_card" => [("project_card", [Field("project_card.id")])], ["project_card.updated_at"], [Time, Deleted];
    "project_column" => [("project_column", [Field("project_column.id")])], ["project_column.updated_at"],
        [Time, Deleted];
    "projects_v2" => [("projects_v2", [Field("projects_v2.id")])], ["projects_v2.updated_at"], [Time, Deleted];
    "projects_v2_item" => [("projects_v2_item", [Field("projects_v2_item.id")])], ["projects_v2_item.updated_at"],
        [Time, Deleted];
    "projects_v2_status_update" => [("projects_v2_status_update", [Field("projects_v2_status_update.id")])],
        ["projects_v2_status_update.updated_at"], [Time, Deleted];
    "public" => [("repository", [REPO])], ["repository.updated_at"], [Time, Deleted];
    "pull_request" => [("pull_request", [Field("pull_request.id")])], ["pull_request.updated_at"];
    // A dismissed review keeps its old submitted_at, so the pull request's time is better.
    "pull_request_review" => [("pull_request", [Field("pull_request.id")])],
        ["review.updated_at", "pull_request.updated_at", "review.submitted_at"], [Time, Of("review.id")];
    "pull_request_review_comment" => [("pull_request", [Field("pull_request.id")])],
        ["comment.updated_at", "pull_request.updated_at"], [Time, Deleted, Of("comment.id")];
    "pull_request_review_thread" => [("pull_request", [Field("pull_request.id")])],
        ["updated_at", "pull_request.updated_at"], [Time, Of("thread.node_id")];
    // Seconds since 1970 here, text in other events. Times of commits are their authors' and order nothing.
    "push" => [("ref", [REPO, FullRef])], ["repository.pushed_at"], [Chain("before", "after"), Time];
    // Reports what `package` reports.
    "registry_package" => [("package", [Field("registry_package.id")])],
        ["registry_package.updated_at", "registry_package.package_version.updated_at"];
    // created_at is the time of the tag's commit, earlier than the event.
    "release" => [("release", [Field("release.id")])],
        ["release.updated_at", "release.published_at", "release.created_at"], [Time, Deleted];
    "repository" => [("repository", [REPO])], ["repository.updated_at"], [Time, Deleted];
    "repository_advisory" => [("advisory", [Field("repository_advisory.ghsa_id")])],
        ["repository_advisory.updated_at"];
    // A command and no state; its action is whatever the caller chose.
    "repository_dispatch" => [], [];
    "repository_import" => [("repository", [REPO])], [];
    "repository_ruleset" => [("repository_ruleset", [Field("repository_ruleset.id")])],
        ["repository_ruleset.updated_at"], [Time, Deleted];
    "repository_vulnerability_alert" => [("repository_vulnerability_alert", [REPO, Field("alert.id")])],
        ["alert.fixed_at", "alert.dismissed_at", "alert.created_at"];
    "secret_scanning_alert" => [("secret_scanning_alert", [REPO, Field("alert.number")])],
        ["alert.updated_at", "alert.resolved_at", "alert.created_at"];
    "secret_scanning_alert_location" => [("secret_scanning_alert", [REPO, Field("alert.number")])],
        ["alert.updated_at", "alert.created_at"], [];
    "secret_scanning_scan" => [("secret_scanning_scan", [REPO])], ["completed_at", "started_at"], [];
    "security_advisory" => [("advisory", [Field("security_advisory.ghsa_id")])], ["security_advisory.updated_at"];
    "security_and_analysis" => [("repository", [REPO])], ["repository.updated_at"], [];
    // created_at never moves, so nothing here tells when the event happened.
    "sponsorship" => [("sponsorship", [Field("sponsorship.node_id")])], [];
    // starred_at is null when the star was taken back.
    "star" => [("star", [REPO, Field("sender.id")])], ["starred_at", "repository.updated_at"], [Time, Deleted];
    // Times with the offset +00:00.
    "status" => [("status", [REPO, Field("sha"), Field("context")])], ["updated_at"], [Time, Number("id")];
    "sub_issues" => [("issue", [Field("parent_issue.id")]), ("issue", [Field("parent_issue_id")])],
        ["parent_issue.updated_at"], [];
    "team" => [("team", [Field("team.id")])], [];
    "team_add" => [("repository", [REPO])], ["repository.updated_at"], [];
    "watch" => [("watch", [REPO, Field("sender.id")])], ["repository.updated_at"];
    // A command and no state.
    "workflow_dispatch" => [], [];
    // Each attempt has a job id of its own. There is no updated_at.
    "workflow_job" => [("workflow_job", [Field("workflow_job.id")])],
        ["workflow_job.completed_at", "workflow_job.started_at", "workflow_job.created_at"],
        [Number("workflow_job.run_attempt"), Status("workflow_job.status"), Time];
    // The id stays the same when the run is started again.
    "workflow_run" => [("workflow_run", [Field("workflow_run.id")])], ["workflow_run.updated_at"],
        [Number("workflow_run.run_attempt"), Status("workflow_run.status"), Time];
};
