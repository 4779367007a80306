// The fast path: activities that a commit locks for its own worker.
#include <utility>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Indices = std::vector<std::size_t>;

WorkFetch up_to(std::size_t limit, WorkFetch options = {}) {
  options.limit = limit;
  return options;
}

// The first turn of a new instance, which schedules these activities and claims what it may.
CommitAnswer create_claiming(Scene& scene, const std::string& instance, const std::vector<MessageRecord>& activities,
                             const WorkFetch& claim, Where where = Where::current()) {
  scene.enqueue_start(instance, "Flow", where);
  TurnCommit commit = scene.first_commit_of(scene.fetch({}, where));
  for (EventId id = 2; id < 2 + activities.size(); ++id) commit.events.push_back(event(id));
  commit.activities = activities;
  commit.claim = claim;
  return scene.ack(commit, where);
}

Indices indices_of(const CommitAnswer& answer) {
  Indices indices;
  for (const ClaimedActivity& claimed : answer.claimed) indices.push_back(claimed.index);
  return indices;
}

std::vector<EventId> left_for(Scene& scene, const WorkFetch& options, Where where = Where::current()) {
  return activity_ids_of(fetch_activities(scene, 100, options, where));
}

void a_commit_claims_up_to_its_limit(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  WorkFetch claim = up_to(2);
  claim.lock_timeout = Milliseconds{7'000};
  const MessageRecord first = activity("a", 2);
  const CommitAnswer answer = create_claiming(scene, "a", {first, activity("a", 3), activity("a", 4)}, claim);
  expect_equal(indices_of(answer), Indices{0, 1}, "what was claimed");
  expect(!(answer.claimed[0].token == answer.claimed[1].token), "two activities have the same token");
  for (const ClaimedActivity& claimed : answer.claimed) {
    expect_equal(claimed.locked_until, scene.now() + claim.lock_timeout, "until when the lock holds");
  }
  expect_equal(left_for(scene, {}), std::vector<EventId>{4}, "what is left for others");
  // A claimed activity is like any that was fetched.
  take(scene.store().ack_work_item({.token = answer.claimed[0].token, .completion = completion(first)}));
  expect_messages(scene.fetch(), {completion(first)});
  scene.advance(claim.lock_timeout);
  const WorkItem again = scene.fetch_work();
  expect_equal(again.record.activity_id, EventId{3}, "the activity whose lock expired");
  expect_equal(again.attempt_count, 2U, "its attempt");
  expect_error(scene.store().renew_work_lock(answer.claimed[1].token, kLockTimeout), ProviderErrorKind::kLockLost);
}

void without_a_claim_nothing_is_claimed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create("a");
  const CommitAnswer answer = scene.turn("a", [](TurnCommit& commit) { commit.activities = {activity("a", 2)}; });
  expect(answer.claimed.empty(), "something was claimed");
  expect_equal(left_for(scene, {}), std::vector<EventId>{2}, "what is left");
}

void a_claim_does_not_jump_the_queue(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(activity("z", 9));
  const CommitAnswer answer = create_claiming(scene, "a", {activity("a", 2), activity("a", 3)}, up_to(10));
  expect_equal(indices_of(answer), Indices{}, "what was claimed");
  expect_equal(left_for(scene, {}), std::vector<EventId>{9, 2, 3}, "the queue");
}

void an_expired_lock_is_ahead_in_the_queue(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(activity("z", 9));
  scene.fetch_work();
  scene.advance(WorkFetch().lock_timeout);
  const CommitAnswer answer = create_claiming(scene, "a", {activity("a", 2)}, up_to(10));
  expect_equal(indices_of(answer), Indices{}, "what was claimed");
  expect_equal(left_for(scene, {}), std::vector<EventId>{9, 2}, "the queue");
}

void an_activity_that_nobody_started_is_ahead_in_the_queue(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  MessageRecord late = tagged(activity("z", 9), "nobody");
  late.timeouts.schedule_to_start = Milliseconds{1'000};
  scene.enqueue_activity(late);
  scene.advance(Milliseconds{1'000});
  const CommitAnswer answer = create_claiming(scene, "a", {activity("a", 2)}, up_to(10));
  expect_equal(indices_of(answer), Indices{}, "what was claimed");
}

void an_earlier_activity_of_the_instance_is_ahead_too(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create_with_activities("a", {activity("a", 2)});
  const CommitAnswer answer = scene.turn("a", [](TurnCommit& commit) {
    commit.activities = {activity("a", 3)};
    commit.claim = up_to(10);
  });
  expect_equal(indices_of(answer), Indices{}, "what was claimed");
  expect_equal(left_for(scene, {}), std::vector<EventId>{2, 3}, "the queue");
}

void what_the_worker_could_not_take_is_not_ahead(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(activity("z", 9));
  scene.fetch_work();
  scene.enqueue_activity(in_session(activity("z", 10), "held"));
  scene.fetch_work(as_worker("B"));
  scene.enqueue_activity(in_session(activity("z", 11), "held"));
  scene.enqueue_activity(tagged(activity("z", 12), "gpu"));
  scene.enqueue_activity(activity("z", 13, "Other"));
  MessageRecord later = activity("z", 14);
  later.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue_activity(later);
  WorkFetch claim = up_to(10, as_worker("A"));
  claim.filter.activities = {"Work"};
  const CommitAnswer answer = create_claiming(scene, "a", {activity("a", 2)}, claim);
  expect_equal(indices_of(answer), Indices{0}, "what was claimed");
}

void a_suspect_that_would_be_skipped_is_not_ahead(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(activity("z", 9));
  abandon_work(scene, scene.fetch_work().token);
  WorkFetch claim = up_to(10);
  claim.suspects = {.from_attempts = 1, .admit = false};
  expect_equal(indices_of(create_claiming(scene, "a", {activity("a", 2)}, claim)), Indices{0}, "what was claimed");
  claim.suspects.admit = true;
  expect_equal(indices_of(create_claiming(scene, "b", {activity("b", 2)}, claim)), Indices{},
               "what was claimed past a suspect that is admitted");
}

void a_claim_takes_what_a_fetch_would_take(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  MessageRecord later = activity("a", 2);
  later.visible_at = scene.now() + Milliseconds{1'000};
  WorkFetch claim = up_to(10);
  claim.tags = TagFilter::untagged_and({"gpu"});
  claim.filter.activities = {"Work", "Paint"};
  const CommitAnswer answer =
      create_claiming(scene, "a",
                      {later, tagged(activity("a", 3), "cpu"), tagged(activity("a", 4), "gpu"),
                       activity("a", 5, "Other"), in_session(activity("a", 6), "s"), activity("a", 7, "Paint")},
                      claim);
  expect_equal(indices_of(answer), Indices{2, 5}, "what was claimed");
  expect_equal(left_for(scene, up_to(10, as_worker("B"))), std::vector<EventId>{5, 6}, "what is left for B");
}

void a_filter_that_takes_nothing_claims_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  WorkFetch claim = up_to(10);
  claim.tags = TagFilter::none();
  expect_equal(indices_of(create_claiming(scene, "a", {activity("a", 2)}, claim)), Indices{}, "what was claimed");
}

void a_claim_claims_sessions(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(in_session(activity("z", 9), "held"));
  scene.fetch_work(as_worker("B"));
  const CommitAnswer answer = create_claiming(
      scene, "a",
      {in_session(activity("a", 2), "s"), in_session(activity("a", 3), "held"), in_session(activity("a", 4), "s")},
      up_to(10, as_worker("A", Milliseconds{1'000})));
  expect_equal(indices_of(answer), Indices{0, 2}, "what was claimed");
  scene.enqueue_activity(in_session(activity("z", 10), "s"));
  scene.advance(Milliseconds{999});
  expect_equal(left_for(scene, as_worker("B")), std::vector<EventId>{3}, "what is left for B");
  scene.advance(Milliseconds{1});
  expect_equal(left_for(scene, as_worker("B")), std::vector<EventId>{10}, "what B gets when the session is free");
}

void a_claim_claims_no_more_sessions_than_allowed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  WorkFetch claim = up_to(10, as_worker("A"));
  claim.session->max_sessions = 1;
  const CommitAnswer answer = create_claiming(scene, "a",
                                              {in_session(activity("a", 2), "s"), in_session(activity("a", 3), "t"),
                                               in_session(activity("a", 4), "s"), activity("a", 5)},
                                              claim);
  expect_equal(indices_of(answer), Indices{0, 2, 3}, "what was claimed");
  expect_equal(left_for(scene, as_worker("B")), std::vector<EventId>{3}, "what is left for B");
  // At capacity: only what the owner holds.
  const CommitAnswer full =
      create_claiming(scene, "b", {in_session(activity("b", 2), "u"), in_session(activity("b", 3), "s")}, claim);
  expect_equal(indices_of(full), Indices{1}, "what was claimed at capacity");
}

void a_claim_counts_what_its_owner_holds(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(in_session(activity("z", 9), "s"));
  scene.ack_work(scene.fetch_work(as_worker("A", Milliseconds{1'000})));
  WorkFetch claim = up_to(10, as_worker("A", Milliseconds{1'000}));
  claim.session->max_sessions = 2;
  const std::vector<MessageRecord> activities{in_session(activity("a", 2), "t"), in_session(activity("a", 3), "u"),
                                              in_session(activity("a", 4), "s")};
  expect_equal(indices_of(create_claiming(scene, "a", activities, claim)), Indices{0, 2}, "what was claimed");
  // What is beyond the owner's capacity is not ahead of what it can take; with capacity again it is.
  expect_equal(indices_of(create_claiming(scene, "b", {in_session(activity("b", 2), "t")}, claim)), Indices{0},
               "what was claimed past an activity beyond capacity");
  scene.advance(Milliseconds{1'000});
  expect_equal(indices_of(create_claiming(scene, "c", {in_session(activity("c", 2), "t")}, claim)), Indices{},
               "what was claimed when sessions had lapsed");
}

void what_is_withdrawn_at_once_is_not_claimed(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create("a");
  const CommitAnswer answer = scene.turn("a", [](TurnCommit& commit) {
    commit.activities = {activity("a", 2), activity("a", 3)};
    commit.cancelled_activities = {2};
    commit.claim = up_to(10);
  });
  expect_equal(indices_of(answer), Indices{1}, "what was claimed");
  scene.fetch_no_work();
}

// A turn of "a" with so many activities, from 2 on.
TurnCommit claiming_commit(Scene& scene, std::size_t activities, const WorkFetch& claim) {
  scene.create("a");
  TurnCommit commit = scene.commit_of(scene.wake("a"));
  for (EventId id = 2; id < 2 + activities; ++id) commit.activities.push_back(activity("a", id));
  commit.claim = claim;
  return commit;
}

std::vector<ClaimedActivity> claimed_again(Scene& scene, const TurnCommit& commit, Where where = Where::current()) {
  CommitAnswer answer = scene.ack(commit, where);
  expect(answer.repeated, "the commit was not recognised", where);
  return std::move(answer.claimed);
}

void a_repeated_commit_lists_its_claims_again(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const TurnCommit commit = claiming_commit(scene, 3, up_to(2));
  std::vector<ClaimedActivity> claimed = scene.ack(commit).claimed;
  expect_equal(claimed.size(), std::size_t{2}, "what was claimed");
  expect(claimed_again(scene, commit) == claimed, "the repetition lists other claims");
  scene.advance(Milliseconds{1});
  expect(claimed_again(scene, commit) == claimed, "a later repetition lists other claims");
  // It is as good as the first answer.
  claimed[0].locked_until = take(scene.store().renew_work_lock(claimed[0].token, kLockTimeout * 3));
  const std::vector<ClaimedActivity> renewed = claimed_again(scene, commit);
  expect(renewed == claimed, "the repetition does not list the lock as it was renewed");
  expect_equal(left_for(scene, {}), std::vector<EventId>{4}, "what is left for others");
  take(scene.store().ack_work_item({.token = renewed[0].token, .completion = completion(commit.activities[0])}));
  expect_messages(scene.fetch(), {completion(commit.activities[0])});
}

void a_repeated_commit_claims_nothing_more(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.enqueue_activity(activity("z", 9));
  const TurnCommit ahead = claiming_commit(scene, 1, up_to(10));
  expect(scene.ack(ahead).claimed.empty(), "something was claimed past older work");
  expect_equal(scene.fetch_work().record.activity_id, EventId{9}, "the older work");
  expect(claimed_again(scene, ahead).empty(), "the repetition claims what the commit did not");
  expect_equal(left_for(scene, {}), std::vector<EventId>{2}, "what is left for others");
  expect(claimed_again(scene, ahead).empty(), "the repetition lists what somebody has fetched");
}

void a_repeated_commit_lists_only_what_it_still_holds(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  const TurnCommit commit = claiming_commit(scene, 5, up_to(10));
  const std::vector<ClaimedActivity> claimed = scene.ack(commit).claimed;
  expect_equal(claimed.size(), std::size_t{5}, "what was claimed");
  take(scene.store().ack_work_item({.token = claimed[0].token, .completion = completion(commit.activities[0])}));
  abandon_work(scene, claimed[1].token, Milliseconds{1'000});
  abandon_work(scene, claimed[2].token);
  abandon_work(scene, claimed[3].token, Milliseconds{0}, true);
  const std::vector<ClaimedActivity> held{claimed[4]};
  expect(claimed_again(scene, commit) == held, "the repetition lists what was completed or given back");
  const std::vector<WorkItem> fetched = fetch_activities(scene, 10);
  expect_equal(activity_ids_of(fetched), std::vector<EventId>{4, 5}, "what was fetched since");
  expect_equal(fetched.at(1).attempt_count, 1U, "the attempt of what was given back uncounted");
  expect(claimed_again(scene, commit) == held, "the repetition lists what somebody else has fetched");
}

void a_repeated_commit_lists_no_claim_whose_lock_ran_out(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  WorkFetch claim = up_to(10);
  claim.lock_timeout = Milliseconds{7'000};
  const TurnCommit commit = claiming_commit(scene, 1, claim);
  const std::vector<ClaimedActivity> claimed = scene.ack(commit).claimed;
  scene.advance(claim.lock_timeout - Milliseconds{1});
  expect(claimed_again(scene, commit) == claimed, "the repetition does not list a lock that still holds");
  scene.advance(Milliseconds{1});
  expect(claimed_again(scene, commit).empty(), "the repetition lists a lock that ran out");
  expect_equal(left_for(scene, {}), std::vector<EventId>{2}, "what is left for others");
  expect(claimed_again(scene, commit).empty(), "the repetition lists what somebody else has fetched");
}

void a_commit_that_fails_claims_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  scene.create("a");
  TurnCommit commit = scene.commit_of(scene.wake("a"));
  commit.activities = {in_session(activity("a", 2), "s"), activity("a", 2)};
  commit.claim = up_to(10, as_worker("A"));
  const Snapshot before = snapshot(scene, "a");
  const ProviderResult<CommitAnswer> answer = scene.store().ack_orchestration_item(commit);
  expect(!answer.has_value(), "two activities of one identity were accepted");
  expect_unchanged(scene, before);
  const std::vector<std::string> owners{"A"};
  expect_equal(take(scene.store().renew_sessions(owners, kLockTimeout, kLockTimeout)), std::size_t{0}, "sessions of A");
}

// What one commit leaves in the queue is ahead of what the next one schedules.
void commits_of_a_batch_do_not_jump_each_other(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  for (const std::string id : {"a", "b", "c"}) scene.enqueue_start(id);
  std::vector<TurnCommit> commits;
  for (const OrchestrationItem& item : fetch_instances(scene, 3)) {
    TurnCommit commit = scene.first_commit_of(item);
    commit.events.push_back(event(2));
    commit.activities = {activity(item.instance, 2)};
    commit.claim = up_to(1);
    commits.push_back(commit);
  }
  expect_equal(commits.size(), std::size_t{3}, "instances");
  commits[1].activities.push_back(activity("b", 3));
  const std::vector<ProviderResult<CommitAnswer>> answers = scene.store().ack_orchestration_items(commits);
  expect_equal(indices_of(take(answers[0])), Indices{0}, "what the first claimed");
  expect_equal(indices_of(take(answers[1])), Indices{0}, "what the second claimed");
  expect_equal(indices_of(take(answers[2])), Indices{}, "what the third claimed");
}

void a_rule_that_suspects_everything_holds_for_a_claim(ProviderFactory& factory) {
  Scene scene(factory);
  if (!has_fast_path(scene)) return;
  WorkFetch claim = up_to(2);
  claim.suspects = {.from_attempts = 0, .admit = false};
  const CommitAnswer none = create_claiming(scene, "a", {activity("a", 2), activity("a", 3)}, claim);
  expect_equal(indices_of(none), Indices{}, "what was claimed without admission");
  left_for(scene, {});
  claim.suspects.admit = true;
  const CommitAnswer alone = create_claiming(scene, "b", {activity("b", 2), activity("b", 3)}, claim);
  expect_equal(indices_of(alone), Indices{0}, "what was claimed alone");
}

}  // namespace

ValidationTests fast_path_claim_tests() {
  return {
      {"fast_path_claim", "a_commit_claims_up_to_its_limit", &a_commit_claims_up_to_its_limit},
      {"fast_path_claim", "without_a_claim_nothing_is_claimed", &without_a_claim_nothing_is_claimed},
      {"fast_path_claim", "a_claim_does_not_jump_the_queue", &a_claim_does_not_jump_the_queue},
      {"fast_path_claim", "an_expired_lock_is_ahead_in_the_queue", &an_expired_lock_is_ahead_in_the_queue},
      {"fast_path_claim", "an_activity_that_nobody_started_is_ahead_in_the_queue",
       &an_activity_that_nobody_started_is_ahead_in_the_queue},
      {"fast_path_claim", "an_earlier_activity_of_the_instance_is_ahead_too",
       &an_earlier_activity_of_the_instance_is_ahead_too},
      {"fast_path_claim", "what_the_worker_could_not_take_is_not_ahead", &what_the_worker_could_not_take_is_not_ahead},
      {"fast_path_claim", "a_suspect_that_would_be_skipped_is_not_ahead",
       &a_suspect_that_would_be_skipped_is_not_ahead},
      {"fast_path_claim", "a_claim_takes_what_a_fetch_would_take", &a_claim_takes_what_a_fetch_would_take},
      {"fast_path_claim", "a_filter_that_takes_nothing_claims_nothing", &a_filter_that_takes_nothing_claims_nothing},
      {"fast_path_claim", "a_claim_claims_sessions", &a_claim_claims_sessions},
      {"fast_path_claim", "a_claim_claims_no_more_sessions_than_allowed",
       &a_claim_claims_no_more_sessions_than_allowed},
      {"fast_path_claim", "a_claim_counts_what_its_owner_holds", &a_claim_counts_what_its_owner_holds},
      {"fast_path_claim", "what_is_withdrawn_at_once_is_not_claimed", &what_is_withdrawn_at_once_is_not_claimed},
      {"fast_path_claim", "a_repeated_commit_lists_its_claims_again", &a_repeated_commit_lists_its_claims_again},
      {"fast_path_claim", "a_repeated_commit_claims_nothing_more", &a_repeated_commit_claims_nothing_more},
      {"fast_path_claim", "a_repeated_commit_lists_only_what_it_still_holds",
       &a_repeated_commit_lists_only_what_it_still_holds},
      {"fast_path_claim", "a_repeated_commit_lists_no_claim_whose_lock_ran_out",
       &a_repeated_commit_lists_no_claim_whose_lock_ran_out},
      {"fast_path_claim", "a_commit_that_fails_claims_nothing", &a_commit_that_fails_claims_nothing},
      {"fast_path_claim", "commits_of_a_batch_do_not_jump_each_other", &commits_of_a_batch_do_not_jump_each_other},
      {"fast_path_claim", "a_rule_that_suspects_everything_holds_for_a_claim",
       &a_rule_that_suspects_everything_holds_for_a_claim},
  };
}

}  // namespace perdure::testing
