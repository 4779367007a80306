// The list of starts that no turn has taken yet.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Ids = std::vector<std::string>;

StartPage start_page(Scene& scene, std::size_t limit = 100, const std::string& cursor = {},
                     Where where = Where::current()) {
  return take(scene.admin(where).list_queued_starts({.limit = limit, .cursor = cursor}), where);
}

Ids ids_of(const StartPage& page) {
  Ids ids;
  for (const QueuedStart& start : page.starts) ids.push_back(start.instance);
  return ids;
}

QueuedStart queued(const MessageRecord& start) {
  return {.instance = start.instance, .name = start.name, .body_head = start.body.substr(0, QueuedStart::kHeadBytes)};
}

// All pages; each must be full but the last.
Ids paged_starts(Scene& scene, std::size_t limit, Where where = Where::current()) {
  Ids all;
  std::string cursor;
  for (int pages = 0; pages < 100; ++pages) {
    const StartPage page = start_page(scene, limit, cursor, where);
    const Ids ids = ids_of(page);
    all.insert(all.end(), ids.begin(), ids.end());
    if (page.next.empty()) return all;
    expect_equal(ids.size(), limit, "starts on a page that is not the last", where);
    cursor = page.next;
  }
  fail("the pages have no end", where);
}

void starts_are_listed_by_id(ProviderFactory& factory) {
  Scene scene(factory);
  expect(start_page(scene).starts.empty(), "an empty store has queued starts");
  scene.enqueue_start("b", "Ship");
  scene.enqueue_start("c", "Charge");
  scene.enqueue_start("a", "");
  const std::vector<QueuedStart> expected{queued(start_message("a", "")), queued(start_message("b", "Ship")),
                                          queued(start_message("c", "Charge"))};
  const StartPage page = start_page(scene);
  expect(page.starts == expected, "the starts are others");
  expect(page.next.empty(), "there is another page");
}

// A page of large inputs would take much memory, and the head contains the requested version.
void a_start_is_listed_with_the_head_of_its_body(ProviderFactory& factory) {
  Scene scene(factory);
  const std::size_t bytes[] = {1, QueuedStart::kHeadBytes, QueuedStart::kHeadBytes + 1, 100'000};
  std::vector<QueuedStart> expected;
  for (const std::size_t length : bytes) {
    MessageRecord start = start_message("i" + std::to_string(expected.size()));
    start.body.assign(length, '\0');
    start.body.front() = '\xFF';
    scene.enqueue(start);
    expected.push_back(queued(start));
  }
  expect_equal(expected.back().body_head.size(), QueuedStart::kHeadBytes, "bytes of a head");
  expect(start_page(scene).starts == expected, "the starts are others");
}

void a_start_is_listed_until_its_first_commit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  const OrchestrationItem item = scene.fetch();
  expect_equal(ids_of(start_page(scene)), Ids{"a"}, "while its first turn is running");
  abandon(scene, item.token, Milliseconds{1'000});
  expect_equal(ids_of(start_page(scene)), Ids{"a"}, "after it was given back");
  scene.advance(Milliseconds{1'000});
  scene.ack(scene.first_commit_of(scene.fetch()));
  expect_equal(ids_of(start_page(scene)), Ids{}, "after its first commit");
}

void a_start_that_is_not_visible_yet_is_listed(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord later = start_message("a", "Later");
  later.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue(later);
  scene.fetch_nothing();
  expect(start_page(scene).starts == std::vector<QueuedStart>{queued(later)}, "the starts are others");
}

void a_start_that_a_turn_sends_is_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("parent");
  scene.turn("parent", [](TurnCommit& commit) { commit.messages = {start_message("child", "Child")}; });
  expect(start_page(scene).starts == std::vector<QueuedStart>{queued(start_message("child", "Child"))},
         "the starts are others");
}

void what_is_no_start_of_a_new_instance_is_not_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(event_message("orphan", "early"));
  scene.enqueue_activity(activity("worker", 2));
  scene.create("running");
  scene.create("ended");
  scene.end("ended");
  // The starts of an instance are in its status.
  scene.enqueue(start_message("running"));
  scene.enqueue(start_message("ended"));
  scene.enqueue(continue_message("continued"));
  expect_equal(ids_of(start_page(scene)), Ids{}, "the starts");
}

void the_name_is_that_of_the_start_that_comes_first(ProviderFactory& factory) {
  Scene scene(factory);
  const auto name = [&scene] { return start_page(scene).starts.front().name; };
  scene.enqueue(continue_message("a", "Continued"));
  MessageRecord second = start_message("a", "Second");
  second.visible_at = scene.now() + Milliseconds{1'000};
  scene.enqueue(second);
  expect_equal(name(), std::string("Second"), "the name of the only start");
  scene.enqueue(start_message("a", "First"));
  scene.enqueue(start_message("a", "Third"));
  expect_equal(name(), std::string("First"), "the name of the start that is delivered first");
  expect_equal(start_page(scene).starts.size(), std::size_t{1}, "starts of one id");
}

void what_was_dropped_or_deleted_is_not_listed(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("a");
  scene.ack(scene.commit_of(scene.fetch()));
  scene.enqueue_start("b");
  take(scene.admin().delete_instance("b", true));
  expect_equal(ids_of(start_page(scene)), Ids{}, "the starts");
  // Once more, after all that.
  scene.enqueue_start("a");
  scene.enqueue_start("b");
  expect_equal(ids_of(start_page(scene)), Ids{"a", "b"}, "the starts");
}

void pages_show_every_start_once(ProviderFactory& factory) {
  Scene scene(factory);
  // In order of their bytes.
  const Ids expected{" ", "1", "10", "9", ":", "A", "a", "a:1", "aa", "it's %_\"", "starts:1:a", "z", "\xC3\xB6"};
  for (std::size_t i = 0; i < expected.size(); ++i) scene.enqueue_start(expected[i * 5 % expected.size()]);
  for (const std::size_t limit : {1U, 2U, 5U, 12U, 13U, 14U, 100U}) {
    expect_equal(paged_starts(scene, limit), expected, "all pages of " + std::to_string(limit));
  }
  const StartPage first = start_page(scene, 2);
  // A cursor is a place: it can be used again, with another size.
  for (int i = 0; i < 2; ++i) {
    expect_equal(ids_of(start_page(scene, 3, first.next)), Ids{"10", "9", ":"}, "the second page");
  }
}

void pages_of_starts_stand_firm(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"b", "d", "f", "h", "j"}) scene.enqueue_start(id);
  const StartPage first = start_page(scene, 2);
  expect_equal(ids_of(first), Ids{"b", "d"}, "the first page");
  // What was shown last and what comes next go; others come before, at and behind the place.
  for (const std::string id : {"d", "f"}) take(scene.admin().delete_instance(id, true));
  for (const std::string id : {"a", "dd", "k"}) scene.enqueue_start(id);
  const StartPage second = start_page(scene, 2, first.next);
  expect_equal(ids_of(second), Ids{"dd", "h"}, "the second page");
  for (const std::string id : {"h", "j", "k"}) take(scene.admin().delete_instance(id, true));
  const StartPage third = start_page(scene, 2, second.next);
  expect(third.starts.empty() && third.next.empty(), "there is a third page when nothing is left for it");
}

void bad_queries_for_starts_are_refused(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b"}) scene.enqueue_start(id);
  expect_error(scene.admin().list_queued_starts({.limit = 0, .cursor = {}}), ProviderErrorKind::kInvalidArgument);
  const std::string good = start_page(scene, 1).next;
  for (const std::string cursor : {"nonsense", "-1", "1 2", " ", "99999999999999999999999999", "a"}) {
    for (const std::string& bad : {cursor, good + cursor, cursor + good}) {
      expect_error(scene.admin().list_queued_starts({.limit = 10, .cursor = bad}), ProviderErrorKind::kInvalidArgument);
    }
  }
  expect_error(scene.admin().list_queued_starts({.limit = 10, .cursor = good.substr(0, good.size() - 1)}),
               ProviderErrorKind::kInvalidArgument);
}

void a_cursor_belongs_to_its_list(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b"}) scene.create_with_activities(id, {activity(id, 2)});
  for (const std::string id : {"c", "d"}) scene.enqueue_start(id);
  const std::string instances = take(scene.admin().list_instances({.filter = {}, .limit = 1, .cursor = {}})).next;
  const std::string activities = take(scene.admin().list_activities({.instance = {}, .limit = 1, .cursor = {}})).next;
  const std::string starts = start_page(scene, 1).next;
  for (const std::string& other : {activities, starts}) {
    expect_error(scene.admin().list_instances({.filter = {}, .limit = 1, .cursor = other}),
                 ProviderErrorKind::kInvalidArgument);
  }
  for (const std::string& other : {instances, starts}) {
    expect_error(scene.admin().list_activities({.instance = {}, .limit = 1, .cursor = other}),
                 ProviderErrorKind::kInvalidArgument);
  }
  for (const std::string& other : {instances, activities}) {
    expect_error(scene.admin().list_queued_starts({.limit = 1, .cursor = other}), ProviderErrorKind::kInvalidArgument);
  }
}

}  // namespace

ValidationTests queued_start_tests() {
  return {
      {"queued_start", "starts_are_listed_by_id", &starts_are_listed_by_id},
      {"queued_start", "a_start_is_listed_with_the_head_of_its_body", &a_start_is_listed_with_the_head_of_its_body},
      {"queued_start", "a_start_is_listed_until_its_first_commit", &a_start_is_listed_until_its_first_commit},
      {"queued_start", "a_start_that_is_not_visible_yet_is_listed", &a_start_that_is_not_visible_yet_is_listed},
      {"queued_start", "a_start_that_a_turn_sends_is_listed", &a_start_that_a_turn_sends_is_listed},
      {"queued_start", "what_is_no_start_of_a_new_instance_is_not_listed",
       &what_is_no_start_of_a_new_instance_is_not_listed},
      {"queued_start", "the_name_is_that_of_the_start_that_comes_first",
       &the_name_is_that_of_the_start_that_comes_first},
      {"queued_start", "what_was_dropped_or_deleted_is_not_listed", &what_was_dropped_or_deleted_is_not_listed},
      {"queued_start", "pages_show_every_start_once", &pages_show_every_start_once},
      {"queued_start", "pages_of_starts_stand_firm", &pages_of_starts_stand_firm},
      {"queued_start", "bad_queries_for_starts_are_refused", &bad_queries_for_starts_are_refused},
      {"queued_start", "a_cursor_belongs_to_its_list", &a_cursor_belongs_to_its_list},
  };
}

}  // namespace perdure::testing
