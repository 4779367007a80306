// Lists page by page, and what a filter lets through.
#include <algorithm>
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

using Ids = std::vector<std::string>;

Ids ids_of(const InstancePage& page) {
  Ids ids;
  for (const InstanceInfo& entry : page.instances) ids.push_back(entry.id);
  return ids;
}

InstancePage page_of(Scene& scene, std::size_t limit, const std::string& cursor = {}, const InstanceFilter& filter = {},
                     Where where = Where::current()) {
  return take(scene.admin(where).list_instances({.filter = filter, .limit = limit, .cursor = cursor}), where);
}

// All pages; each must be full but the last.
Ids paged(Scene& scene, std::size_t limit, const InstanceFilter& filter = {}, Where where = Where::current()) {
  Ids all;
  std::string cursor;
  for (int pages = 0; pages < 100; ++pages) {
    const InstancePage page = page_of(scene, limit, cursor, filter, where);
    const Ids ids = ids_of(page);
    all.insert(all.end(), ids.begin(), ids.end());
    if (page.next.empty()) return all;
    expect_equal(ids.size(), limit, "instances on a page that is not the last", where);
    cursor = page.next;
  }
  fail("the pages have no end", where);
}

Ids matching(Scene& scene, const InstanceFilter& filter, Where where = Where::current()) {
  Ids ids = paged(scene, 100, filter, where);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void pages_show_everything_once(ProviderFactory& factory) {
  Scene scene(factory);
  Ids expected;
  for (int i = 0; i < 12; ++i) {
    // The order is not that of the ids.
    expected.insert(expected.begin(), "i" + std::to_string(i * 7 % 12));
    scene.create(expected.front());
    if (i % 3 == 0) scene.advance(Milliseconds{1});
  }
  for (const std::size_t limit : {1U, 2U, 5U, 6U, 11U, 12U, 13U, 100U}) {
    expect_equal(paged(scene, limit), expected, "all pages of " + std::to_string(limit));
  }
}

void an_empty_list_is_one_empty_page(ProviderFactory& factory) {
  Scene scene(factory);
  const InstancePage page = page_of(scene, 10);
  expect(page.instances.empty() && page.next.empty(), "an empty store has a page");
}

void a_page_has_its_own_size(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c", "d", "e"}) scene.create(id);
  const InstancePage first = page_of(scene, 2);
  expect_equal(ids_of(first), Ids{"e", "d"}, "the first page");
  const InstancePage second = page_of(scene, 1, first.next);
  expect_equal(ids_of(second), Ids{"c"}, "the second page");
  expect_equal(ids_of(page_of(scene, 50, second.next)), Ids{"b", "a"}, "the third page");
  // A cursor is a place, and can be used again.
  expect_equal(ids_of(page_of(scene, 3, first.next)), Ids{"c", "b", "a"}, "the second page once more");
}

void age_is_that_of_the_first_message(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue(event_message("first", "early"));
  scene.enqueue_start("second");
  scene.advance(Milliseconds{5});
  const OrchestrationItem second = scene.fetch();
  expect_equal(second.instance, std::string("second"), "the instance");
  scene.ack(scene.first_commit_of(second));
  scene.advance(Milliseconds{5});
  scene.create("first");
  expect_equal(paged(scene, 1), Ids{"second", "first"}, "the instances, newest first");
}

void pages_stand_firm_when_instances_come(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c", "d"}) scene.create(id);
  const InstancePage first = page_of(scene, 2);
  scene.create("e");
  scene.create("0");
  expect_equal(ids_of(page_of(scene, 10, first.next)), Ids{"b", "a"}, "the second page");
}

void pages_stand_firm_when_instances_go(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c", "d", "e", "f"}) scene.create(id);
  const InstancePage first = page_of(scene, 2);
  expect_equal(ids_of(first), Ids{"f", "e"}, "the first page");
  // What was shown last, what comes next, and what was shown first.
  for (const std::string id : {"e", "d", "f"}) take(scene.admin().delete_instance(id, true));
  const InstancePage second = page_of(scene, 2, first.next);
  expect_equal(ids_of(second), Ids{"c", "b"}, "the second page");
  for (const std::string id : {"a", "b", "c"}) take(scene.admin().delete_instance(id, true));
  const InstancePage third = second.next.empty() ? InstancePage{} : page_of(scene, 2, second.next);
  expect(third.instances.empty() && third.next.empty(), "there is a third page of an empty store");
}

void pages_stand_firm_when_instances_change(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c", "d"}) scene.create(id);
  const InstancePage first = page_of(scene, 2);
  scene.end("a");
  scene.continue_as_new("d");
  expect_equal(ids_of(page_of(scene, 10, first.next)), Ids{"b", "a"}, "the second page");
}

void a_filter_applies_before_pages_are_cut(ProviderFactory& factory) {
  Scene scene(factory);
  Ids expected;
  for (int i = 0; i < 9; ++i) {
    const std::string id = "i" + std::to_string(i);
    scene.create(id, i % 3 == 0 ? "Rare" : "Common");
    if (i % 3 == 0) expected.insert(expected.begin(), id);
  }
  InstanceFilter rare;
  rare.name = "Rare";
  for (const std::size_t limit : {1U, 2U, 3U, 4U}) {
    expect_equal(paged(scene, limit, rare), expected, "pages of " + std::to_string(limit));
  }
}

void bad_queries_are_refused(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b"}) scene.create(id);
  expect_error(scene.admin().list_instances({.filter = {}, .limit = 0, .cursor = {}}),
               ProviderErrorKind::kInvalidArgument);
  for (const std::string cursor : {"nonsense", "-1", "1 2", " ", "99999999999999999999999999"}) {
    expect_error(scene.admin().list_instances({.filter = {}, .limit = 10, .cursor = cursor}),
                 ProviderErrorKind::kInvalidArgument);
  }
  const std::string damaged = page_of(scene, 1).next + "!";
  expect_error(scene.admin().list_instances({.filter = {}, .limit = 10, .cursor = damaged}),
               ProviderErrorKind::kInvalidArgument);
}

// ---- Filters ----

void the_status_filter_takes_failed_in_a_wide_sense(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"running", "completed", "failed", "cancelled", "terminated"}) scene.create(id);
  scene.end("completed", ExecutionStatus::kCompleted);
  scene.end("failed", ExecutionStatus::kFailed);
  scene.end("cancelled", ExecutionStatus::kCancelled);
  scene.end("terminated", ExecutionStatus::kTerminated);
  InstanceFilter filter;
  filter.statuses = {ExecutionStatus::kFailed};
  expect_equal(matching(scene, filter), Ids{"cancelled", "failed", "terminated"}, "failed");
  filter.exact_statuses = true;
  expect_equal(matching(scene, filter), Ids{"failed"}, "failed, exactly");
  filter.exact_statuses = false;
  filter.statuses = {ExecutionStatus::kCancelled};
  expect_equal(matching(scene, filter), Ids{"cancelled"}, "cancelled");
  filter.statuses = {ExecutionStatus::kTerminated, ExecutionStatus::kCompleted};
  expect_equal(matching(scene, filter), Ids{"completed", "terminated"}, "terminated or completed");
  filter.statuses = {ExecutionStatus::kRunning};
  expect_equal(matching(scene, filter), Ids{"running"}, "running");
}

void the_status_filter_looks_at_the_current_execution(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.continue_as_new("a");
  InstanceFilter filter;
  filter.statuses = {ExecutionStatus::kContinuedAsNew};
  expect_equal(matching(scene, filter), Ids{}, "continued as new");
  filter.statuses = {ExecutionStatus::kRunning};
  expect_equal(matching(scene, filter), Ids{"a"}, "running");
}

void name_and_version_filters_are_exact(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a", "Flow");
  scene.create("b", "Flowers");
  for (const std::string id : {"c", "d"}) {
    scene.enqueue_start(id);
    TurnCommit commit = scene.first_commit_of(scene.fetch());
    commit.started->version.reset();
    if (id == "d") commit.started->version = SemanticVersion{1, 0, 1};
    scene.ack(commit);
  }
  InstanceFilter filter;
  filter.name = "Flow";
  expect_equal(matching(scene, filter), Ids{"a", "c", "d"}, "of that name");
  filter.version = SemanticVersion{1, 0, 0};
  expect_equal(matching(scene, filter), Ids{"a"}, "of that name and version");
  filter.name.reset();
  expect_equal(matching(scene, filter), Ids{"a", "b"}, "of that version");
  filter.name = "";
  expect_equal(matching(scene, filter), Ids{}, "of the empty name");
}

void time_filters_include_their_beginning_and_exclude_their_end(ProviderFactory& factory) {
  Scene scene(factory);
  std::vector<Timestamp> times;
  for (const std::string id : {"a", "b", "c"}) {
    times.push_back(scene.now());
    scene.create(id);
    scene.advance(Milliseconds{10});
  }
  InstanceFilter filter;
  filter.created_from = times[1];
  expect_equal(matching(scene, filter), Ids{"b", "c"}, "created from");
  filter.created_before = times[2];
  expect_equal(matching(scene, filter), Ids{"b"}, "created from and before");
  filter.created_from.reset();
  expect_equal(matching(scene, filter), Ids{"a", "b"}, "created before");

  scene.end("a");
  const Timestamp ended = scene.now();
  scene.advance(Milliseconds{10});
  scene.end("b", ExecutionStatus::kFailed);
  InstanceFilter completed;
  completed.completed_before = ended;
  expect_equal(matching(scene, completed), Ids{}, "completed before the end itself");
  completed.completed_before = ended + Milliseconds{1};
  expect_equal(matching(scene, completed), Ids{"a"}, "completed before");
  completed.completed_before = scene.now() + Milliseconds{1};
  expect_equal(matching(scene, completed), Ids{"a", "b"}, "completed at all");
}

void the_id_filter_takes_what_it_lists(ProviderFactory& factory) {
  Scene scene(factory);
  for (const std::string id : {"a", "b", "c"}) scene.create(id);
  InstanceFilter filter;
  filter.ids = Ids{"c", "unknown", "a", "a"};
  expect_equal(matching(scene, filter), Ids{"a", "c"}, "the listed ones");
  expect_equal(paged(scene, 1, filter), Ids{"c", "a"}, "the listed ones, page by page");
  filter.ids = Ids{};
  expect_equal(matching(scene, filter), Ids{}, "of an empty list");
}

void all_conditions_must_hold(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a", "Flow");
  scene.create("b", "Other");
  scene.create("c", "Flow");
  scene.end("a");
  scene.end("b");
  InstanceFilter filter;
  filter.name = "Flow";
  filter.statuses = {ExecutionStatus::kCompleted};
  expect_equal(matching(scene, filter), Ids{"a"}, "by name and status");
  filter.ids = Ids{"b", "c"};
  expect_equal(matching(scene, filter), Ids{}, "by name, status and id");
}

}  // namespace

ValidationTests paging_tests() {
  return {
      {"paging", "pages_show_everything_once", &pages_show_everything_once},
      {"paging", "an_empty_list_is_one_empty_page", &an_empty_list_is_one_empty_page},
      {"paging", "a_page_has_its_own_size", &a_page_has_its_own_size},
      {"paging", "age_is_that_of_the_first_message", &age_is_that_of_the_first_message},
      {"paging", "pages_stand_firm_when_instances_come", &pages_stand_firm_when_instances_come},
      {"paging", "pages_stand_firm_when_instances_go", &pages_stand_firm_when_instances_go},
      {"paging", "pages_stand_firm_when_instances_change", &pages_stand_firm_when_instances_change},
      {"paging", "a_filter_applies_before_pages_are_cut", &a_filter_applies_before_pages_are_cut},
      {"paging", "bad_queries_are_refused", &bad_queries_are_refused},
      {"paging", "the_status_filter_takes_failed_in_a_wide_sense", &the_status_filter_takes_failed_in_a_wide_sense},
      {"paging", "the_status_filter_looks_at_the_current_execution", &the_status_filter_looks_at_the_current_execution},
      {"paging", "name_and_version_filters_are_exact", &name_and_version_filters_are_exact},
      {"paging", "time_filters_include_their_beginning_and_exclude_their_end",
       &time_filters_include_their_beginning_and_exclude_their_end},
      {"paging", "the_id_filter_takes_what_it_lists", &the_id_filter_takes_what_it_lists},
      {"paging", "all_conditions_must_hold", &all_conditions_must_hold},
  };
}

}  // namespace perdure::testing
