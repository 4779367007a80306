// Tags: which worker takes which activity.
#include <vector>

#include "testing/validation/moves.h"
#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

// 2 without a tag, 3 "gpu", 4 "cpu", 5 "disk".
void enqueue_one_of_each(Scene& scene) {
  scene.enqueue_activity(activity("a", 2));
  scene.enqueue_activity(tagged(activity("a", 3), "gpu"));
  scene.enqueue_activity(tagged(activity("a", 4), "cpu"));
  scene.enqueue_activity(tagged(activity("a", 5), "disk"));
}

WorkFetch with_tags(TagFilter tags) {
  WorkFetch options;
  options.tags = std::move(tags);
  return options;
}

std::vector<EventId> fetched_ids(Scene& scene, TagFilter tags, Where where = Where::current()) {
  return activity_ids_of(fetch_activities(scene, 100, with_tags(std::move(tags)), where));
}

void the_default_filter_takes_untagged_activities_only(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(activity("a", 6), "gpu"));
  enqueue_one_of_each(scene);
  expect_equal(fetched_ids(scene, TagFilter()), std::vector<EventId>{2}, "what the default filter takes");
  expect_equal(fetched_ids(scene, TagFilter::untagged()), std::vector<EventId>{}, "what is left for it");
}

void a_listed_tag_takes_its_activities_only(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_one_of_each(scene);
  expect_equal(fetched_ids(scene, TagFilter::tags({"gpu"})), std::vector<EventId>{3}, "what the filter takes");
  // A tag is taken as it is: neither its case nor a part of it matches.
  expect_equal(fetched_ids(scene, TagFilter::tags({"CPU", "cp", "cpu "})), std::vector<EventId>{}, "what else matches");
  expect_equal(scene.fetch_work(with_tags(TagFilter::tags({"cpu"}))).attempt_count, 1U,
               "the attempt of what was skipped");
}

void untagged_and_a_tag_takes_both(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_one_of_each(scene);
  expect_equal(fetched_ids(scene, TagFilter::untagged_and({"cpu"})), std::vector<EventId>{2, 4},
               "what the filter takes");
}

void several_tags_take_all_of_theirs_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_one_of_each(scene);
  expect_equal(fetched_ids(scene, TagFilter::tags({"disk", "unknown", "gpu"})), std::vector<EventId>{3, 5},
               "what the filter takes");
  scene.enqueue_activity(tagged(activity("a", 6), "five"));
  expect_equal(fetched_ids(scene, TagFilter::untagged_and({"one", "two", "three", "four", "five"})),
               std::vector<EventId>{2, 6}, "what a filter with the most tags takes");
}

void any_takes_everything_in_order(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_one_of_each(scene);
  expect_equal(fetched_ids(scene, TagFilter::any()), std::vector<EventId>{2, 3, 4, 5}, "what the filter takes");
}

void none_takes_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_one_of_each(scene);
  expect_equal(fetched_ids(scene, TagFilter::none()), std::vector<EventId>{}, "what the filter takes");
  // Not even what other workers could no longer start.
  MessageRecord late = activity("a", 6);
  late.timeouts.schedule_to_start = Milliseconds{1'000};
  scene.enqueue_activity(late);
  scene.advance(Milliseconds{2'000});
  expect_equal(fetched_ids(scene, TagFilter::none()), std::vector<EventId>{}, "what the filter takes of expired ones");
  expect_equal(fetched_ids(scene, TagFilter::any()), std::vector<EventId>{2, 3, 4, 5, 6}, "what is still there");
}

void a_record_comes_back_as_it_was_queued(ProviderFactory& factory) {
  Scene scene(factory);
  MessageRecord record = in_session(tagged(activity("a", 7, "Resize", 3), "gpu"), "s");
  record.timeouts = {
      .start_to_close = Milliseconds{7}, .schedule_to_start = Milliseconds{8}, .heartbeat = Milliseconds{9}};
  scene.enqueue_activity(record);
  WorkFetch options = as_worker("A");
  options.tags = TagFilter::tags({"gpu"});
  const WorkItem item = scene.fetch_work(options);
  expect_record(item.record, record);
  expect(!item.expired, "it is marked as expired");
  expect_equal(item.scheduled_at, scene.now(), "the time when it was queued");
}

void a_tag_survives_giving_back_and_expiry(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(tagged(activity("a", 2), "gpu"));
  const WorkFetch gpu = with_tags(TagFilter::tags({"gpu"}));
  const WorkItem first = scene.fetch_work(gpu);
  abandon_work(scene, first.token);
  scene.fetch_no_work();
  scene.fetch_no_work(with_tags(TagFilter::tags({"cpu"})));
  const WorkItem second = scene.fetch_work(gpu);
  expect_equal(second.record.tag, std::optional<std::string>("gpu"), "the tag");
  scene.advance(gpu.lock_timeout);
  scene.fetch_no_work();
  const WorkItem third = scene.fetch_work(gpu);
  expect_equal(third.record.tag, std::optional<std::string>("gpu"), "the tag");
  expect_equal(third.attempt_count, 3U, "the attempt");
}

void workers_share_what_their_filters_share(ProviderFactory& factory) {
  Scene scene(factory);
  enqueue_one_of_each(scene);
  expect_equal(scene.fetch_work(with_tags(TagFilter::tags({"cpu", "disk"}))).record.activity_id, EventId{4},
               "what a worker for cpu and disk gets");
  expect_equal(scene.fetch_work(with_tags(TagFilter::tags({"disk", "gpu"}))).record.activity_id, EventId{3},
               "what a worker for disk and gpu gets");
  expect_equal(scene.fetch_work(with_tags(TagFilter::tags({"cpu", "disk"}))).record.activity_id, EventId{5},
               "what the first one gets then");
  expect_equal(fetched_ids(scene, TagFilter::tags({"disk", "gpu"})), std::vector<EventId>{},
               "what is left for the second");
  expect_equal(fetched_ids(scene, TagFilter::any()), std::vector<EventId>{2}, "what is left for any");
}

void a_turn_passes_the_tag_on(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create_with_activities("a", {tagged(activity("a", 2), "gpu"), activity("a", 3)});
  expect_equal(fetched_ids(scene, TagFilter()), std::vector<EventId>{3}, "what the default filter takes");
  const WorkItem item = scene.fetch_work(with_tags(TagFilter::tags({"gpu"})));
  expect_equal(item.record.tag, std::optional<std::string>("gpu"), "the tag");
}

void tag_and_session_must_both_fit(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_activity(in_session(tagged(activity("a", 2), "gpu"), "s"));
  scene.fetch_no_work(as_worker("A"));
  scene.fetch_no_work(with_tags(TagFilter::tags({"gpu"})));
  const std::vector<std::string> owners{"A"};
  expect_equal(take(scene.store().renew_sessions(owners, Milliseconds{1}, Milliseconds{1'000})), std::size_t{0},
               "sessions claimed by a fetch that got nothing");
  WorkFetch both = as_worker("B");
  both.tags = TagFilter::tags({"gpu"});
  expect_equal(scene.fetch_work(both).record.activity_id, EventId{2}, "what a worker for both gets");
}

// A queue full of what nobody serves is no obstacle for the rest, and nothing of it is lost.
void unserved_tags_do_not_stand_in_the_way(ProviderFactory& factory) {
  Scene scene(factory);
  for (EventId id = 2; id < 302; ++id) scene.enqueue_activity(tagged(activity("a", id), "nobody"));
  scene.enqueue_activity(activity("a", 302));
  expect_equal(scene.fetch_work().record.activity_id, EventId{302}, "the activity behind them");
  scene.advance(Milliseconds{1'000});
  expect_equal(take(scene.admin().queue_depths()).activities, std::uint64_t{300}, "activities that wait");
}

}  // namespace

ValidationTests tag_tests() {
  return {
      {"tag", "the_default_filter_takes_untagged_activities_only", &the_default_filter_takes_untagged_activities_only},
      {"tag", "a_listed_tag_takes_its_activities_only", &a_listed_tag_takes_its_activities_only},
      {"tag", "untagged_and_a_tag_takes_both", &untagged_and_a_tag_takes_both},
      {"tag", "several_tags_take_all_of_theirs_in_order", &several_tags_take_all_of_theirs_in_order},
      {"tag", "any_takes_everything_in_order", &any_takes_everything_in_order},
      {"tag", "none_takes_nothing", &none_takes_nothing},
      {"tag", "a_record_comes_back_as_it_was_queued", &a_record_comes_back_as_it_was_queued},
      {"tag", "a_tag_survives_giving_back_and_expiry", &a_tag_survives_giving_back_and_expiry},
      {"tag", "workers_share_what_their_filters_share", &workers_share_what_their_filters_share},
      {"tag", "a_turn_passes_the_tag_on", &a_turn_passes_the_tag_on},
      {"tag", "tag_and_session_must_both_fit", &tag_and_session_must_both_fit},
      {"tag", "unserved_tags_do_not_stand_in_the_way", &unserved_tags_do_not_stand_in_the_way},
  };
}

}  // namespace perdure::testing
