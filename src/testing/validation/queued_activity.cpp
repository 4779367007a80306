// The list of queued activities: what it says of each, in which order, and page by page.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using EventIds = std::vector<EventId>;

constexpr Milliseconds kPostponed{1'000};

ActivityPage activity_page(Scene& scene, const ActivityQuery& query, Where where = Where::current()) {
  return take(scene.admin(where).list_activities(query), where);
}

EventIds ids_of(const ActivityPage& page) {
  EventIds ids;
  for (const QueuedActivity& queued : page.activities) ids.push_back(queued.activity_id);
  return ids;
}

// All pages; each must be full but the last.
EventIds paged_activities(Scene& scene, std::size_t limit, const std::optional<std::string>& instance = {},
                          Where where = Where::current()) {
  EventIds all;
  ActivityQuery query{.instance = instance, .limit = limit, .cursor = {}};
  for (int pages = 0; pages < 100; ++pages) {
    const ActivityPage page = activity_page(scene, query, where);
    const EventIds ids = ids_of(page);
    all.insert(all.end(), ids.begin(), ids.end());
    if (page.next.empty()) return all;
    expect_equal(ids.size(), limit, "activities on a page that is not the last", where);
    query.cursor = page.next;
  }
  fail("the pages have no end", where);
}

QueuedActivity only_one(Scene& scene, Where where = Where::current()) {
  const ActivityPage page = activity_page(scene, {}, where);
  expect_equal(page.activities.size(), std::size_t{1}, "queued activities", where);
  return page.activities.front();
}

void drop(Scene& scene, const WorkItem& item, Where where = Where::current()) {
  take(scene.store().ack_work_item({.token = item.token, .completion = {}}), where);
}

void an_activity_is_listed_as_it_was_scheduled(ProviderFactory& factory) {
  Scene scene(factory);
  expect(activity_page(scene, {}).activities.empty(), "an empty store has activities");
  scene.enqueue_activity(activity("a", 2, "Plain", 3));
  const QueuedActivity plain{.instance = "a",
                             .execution = 3,
                             .activity_id = 2,
                             .name = "Plain",
                             .session = {},
                             .tag = {},
                             .scheduled_at = scene.now(),
                             .ready_at = scene.now(),
                             .locked = false,
                             .attempts = 0,
                             .heartbeat_details = {}};
  scene.advance(kPostponed);
  MessageRecord record = tagged(in_session(activity("b", 7, "Work"), "s"), "gpu");
  record.visible_at = scene.now() + kPostponed;
  scene.create_with_activities("b", {record});
  const QueuedActivity full{.instance = "b",
                            .execution = 1,
                            .activity_id = 7,
                            .name = "Work",
                            .session = "s",
                            .tag = "gpu",
                            .scheduled_at = scene.now(),
                            .ready_at = scene.now() + kPostponed,
                            .locked = false,
                            .attempts = 0,
                            .heartbeat_details = {}};
  const ActivityPage page = activity_page(scene, {});
  expect_equal(page.activities.size(), std::size_t{2}, "queued activities");
  expect(page.activities[0] == plain, "the first is another");
  expect(page.activities[1] == full, "the second is another");
  expect(page.next.empty(), "there is another page");
}

void a_fetch_and_its_end_show(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  QueuedActivity expected = only_one(scene);
  WorkFetch fetch;
  fetch.lock_timeout = kPostponed;
  WorkItem item = scene.fetch_work(fetch);
  expected.locked = true;
  expected.attempts = 1;
  expected.ready_at = item.locked_until;
  expect(only_one(scene) == expected, "it is listed in another way while it is locked");
  expected.ready_at = take(scene.store().renew_work_lock(item.token, kPostponed + kPostponed));
  expect(only_one(scene) == expected, "it is listed in another way when its lock was renewed");
  // At its end the lock is gone.
  scene.advance(kPostponed + kPostponed);
  expected.locked = false;
  expect(only_one(scene) == expected, "it is listed in another way when its lock has ended");

  item = scene.fetch_work(fetch);
  abandon_work(scene, item.token, kPostponed, true);
  expected.ready_at = scene.now() + kPostponed;
  expect(only_one(scene) == expected, "it is listed in another way when it was given back");
  scene.advance(kPostponed);
  abandon_work(scene, scene.fetch_work(fetch).token);
  expected.attempts = 2;
  expected.ready_at = scene.now();
  expect(only_one(scene) == expected, "it is listed in another way when it was given back at once");
}

void what_the_latest_heartbeat_left_is_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(activity("a", 2));
  const WorkItem item = scene.fetch_work();
  const auto beat = [&](const Payload& details) {
    const Heartbeat heartbeat{.token = item.token, .details = details, .extend_for = {}};
    take(scene.store().heartbeat({&heartbeat, 1}).front());
    return only_one(scene).heartbeat_details;
  };
  expect_equal(only_one(scene).heartbeat_details, Payload(), "details before a heartbeat");
  expect_equal(beat("\"half\""), Payload("\"half\""), "details");
  expect_equal(beat(std::nullopt), Payload("\"half\""), "details after a heartbeat without any");
  expect_equal(beat(""), Payload(""), "empty details");
  expect_equal(beat("\"all\""), Payload("\"all\""), "details");
  abandon_work(scene, item.token);
  expect_equal(only_one(scene).heartbeat_details, Payload("\"all\""), "details after the attempt");
}

void a_claimed_activity_is_listed_as_locked(ProviderFactory& factory) {
  Scene scene(factory);
  if (!scene.store().capabilities().fast_path) return;
  scene.create("a");
  const CommitAnswer answer = scene.turn("a", [](TurnCommit& commit) {
    commit.activities = {activity("a", 2)};
    commit.claim = WorkFetch{};
  });
  expect_equal(answer.claimed.size(), std::size_t{1}, "claimed activities");
  const QueuedActivity queued = only_one(scene);
  expect(queued.locked, "it is not locked");
  expect_equal(queued.attempts, 1U, "its attempts");
  expect_equal(queued.ready_at, answer.claimed.front().locked_until, "when it may be fetched");
}

void what_has_left_the_queue_is_not_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2), activity("a", 3), activity("a", 4)});
  scene.create_with_activities("b", {activity("b", 5)});
  scene.ack_work(scene.fetch_work());
  scene.ack(scene.commit_of(scene.fetch()));
  expect_equal(paged_activities(scene, 10), EventIds{3, 4, 5}, "after a completion");
  scene.turn("a", [](TurnCommit& commit) { commit.cancelled_activities = {3}; });
  expect_equal(paged_activities(scene, 10), EventIds{4, 5}, "after a cancellation");
  take(scene.admin().delete_instance("b", true));
  expect_equal(paged_activities(scene, 10), EventIds{4}, "after a deletion");
}

// Not that in which they are ready, and whatever happens to them.
void activities_are_listed_in_order_of_their_scheduling(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord late = activity("b", 9);
  late.visible_at = scene.now() + kPostponed;
  scene.enqueue_activity(late);
  scene.enqueue_activity(activity("b", 3));
  scene.enqueue_activity(activity("a", 7));
  scene.advance(kPostponed);
  MessageRecord early = activity("a", 2);
  early.visible_at = scene.now() - kPostponed - kPostponed;
  scene.enqueue_activity(early);
  const EventIds expected{9, 3, 7, 2};
  expect_equal(paged_activities(scene, 10), expected, "the activities");
  for (const WorkItem& item : fetch_activities(scene, 3)) abandon_work(scene, item.token, kPostponed);
  expect_equal(paged_activities(scene, 10), expected, "the activities after some were fetched and given back");
}

void the_activities_of_one_instance_can_be_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {activity("a", 2), activity("a", 3)});
  scene.enqueue_activity(activity("A", 4));
  scene.enqueue_activity(activity("a", 5, "Work", 2));
  scene.enqueue_activity(activity("a", 1));
  scene.create("none");
  for (const std::size_t limit : {1U, 2U, 3U, 100U}) {
    expect_equal(paged_activities(scene, limit, "a"), EventIds{2, 3, 5, 1},
                 "of a, by pages of " + std::to_string(limit));
  }
  expect_equal(paged_activities(scene, 10, "A"), EventIds{4}, "of an id without an instance");
  expect_equal(paged_activities(scene, 10, "none"), EventIds{}, "of an instance without activities");
  expect_equal(paged_activities(scene, 10, "unknown"), EventIds{}, "of an unknown instance");
  expect_equal(paged_activities(scene, 10, ""), EventIds{}, "of the empty id");
}

void pages_show_every_activity_once(ProviderFactory& factory) {
  Scene scene(factory);
  EventIds expected;
  for (EventId id = 12; id > 0; --id) {
    scene.enqueue_activity(activity("i" + std::to_string(id % 3), id));
    expected.push_back(id);
    if (id % 4 == 0) scene.advance(Milliseconds{1});
  }
  for (const std::size_t limit : {1U, 2U, 5U, 6U, 11U, 12U, 13U, 100U}) {
    expect_equal(paged_activities(scene, limit), expected, "all pages of " + std::to_string(limit));
  }
  const ActivityPage first = activity_page(scene, {.instance = {}, .limit = 2, .cursor = {}});
  // A cursor is a place: it can be used again, with another size.
  for (int i = 0; i < 2; ++i) {
    const ActivityPage second = activity_page(scene, {.instance = {}, .limit = 3, .cursor = first.next});
    expect_equal(ids_of(second), EventIds{10, 9, 8}, "the second page");
  }
}

// What is there from the first page to the last is on exactly one of them.
void pages_of_activities_stand_firm(ProviderFactory& factory) {
  Scene scene(factory);
  for (EventId id = 2; id <= 8; ++id) scene.enqueue_activity(activity("a", id));
  const std::vector<WorkItem> items = fetch_activities(scene, 100);
  const ActivityPage first = activity_page(scene, {.instance = {}, .limit = 3, .cursor = {}});
  expect_equal(ids_of(first), EventIds{2, 3, 4}, "the first page");
  // What was shown last, what comes next and what was shown first go; two are given back, and new ones come.
  for (const std::size_t gone : {2U, 3U, 0U}) drop(scene, items[gone]);
  abandon_work(scene, items[1].token, kPostponed);
  abandon_work(scene, items[5].token);
  scene.advance(kPostponed);
  scene.enqueue_activity(activity("0", 1));
  const ActivityPage second = activity_page(scene, {.instance = {}, .limit = 2, .cursor = first.next});
  expect_equal(ids_of(second), EventIds{6, 7}, "the second page");
  expect(!second.next.empty(), "there is no third page");
  const EventIds third = ids_of(activity_page(scene, {.instance = {}, .limit = 2, .cursor = second.next}));
  expect(!third.empty() && third.front() == 8, "the third page does not begin with what comes next");
  for (const std::size_t gone : {4U, 5U, 6U}) {
    take(scene.store().abandon_work_item({.token = items[gone].token}));
  }
  for (const WorkItem& item : fetch_activities(scene, 100)) drop(scene, item);
  const ActivityPage end = activity_page(scene, {.instance = {}, .limit = 2, .cursor = second.next});
  expect(end.activities.empty() && end.next.empty(), "there is a third page of an empty queue");
}

void bad_queries_for_activities_are_refused(ProviderFactory& factory) {
  Scene scene(factory);
  for (EventId id = 2; id <= 3; ++id) scene.enqueue_activity(activity("a", id));
  expect_error(scene.admin().list_activities({.instance = {}, .limit = 0, .cursor = {}}),
               ProviderErrorKind::kInvalidArgument);
  const std::string good = activity_page(scene, {.instance = {}, .limit = 1, .cursor = {}}).next;
  for (const std::string cursor : {"nonsense", "-1", "1 2", " ", "99999999999999999999999999"}) {
    for (const std::string& bad : {cursor, good + cursor, cursor + good}) {
      expect_error(scene.admin().list_activities({.instance = {}, .limit = 10, .cursor = bad}),
                   ProviderErrorKind::kInvalidArgument);
    }
  }
}

}  // namespace

ValidationTests queued_activity_tests() {
  return {
      {"queued_activity", "an_activity_is_listed_as_it_was_scheduled", &an_activity_is_listed_as_it_was_scheduled},
      {"queued_activity", "a_fetch_and_its_end_show", &a_fetch_and_its_end_show},
      {"queued_activity", "what_the_latest_heartbeat_left_is_listed", &what_the_latest_heartbeat_left_is_listed},
      {"queued_activity", "a_claimed_activity_is_listed_as_locked", &a_claimed_activity_is_listed_as_locked},
      {"queued_activity", "what_has_left_the_queue_is_not_listed", &what_has_left_the_queue_is_not_listed},
      {"queued_activity", "activities_are_listed_in_order_of_their_scheduling",
       &activities_are_listed_in_order_of_their_scheduling},
      {"queued_activity", "the_activities_of_one_instance_can_be_listed",
       &the_activities_of_one_instance_can_be_listed},
      {"queued_activity", "pages_show_every_activity_once", &pages_show_every_activity_once},
      {"queued_activity", "pages_of_activities_stand_firm", &pages_of_activities_stand_firm},
      {"queued_activity", "bad_queries_for_activities_are_refused", &bad_queries_for_activities_are_refused},
  };
}

}  // namespace perdure::testing
