// One owner an instance: what a lock keeps out, and what it leaves alone.
#include <mutex>
#include <set>

#include "testing/validation/moves.h"
#include "testing/validation/suite.h"
#include "testing/validation/threads.h"

namespace perdure::testing {

namespace {

using Kind = ProviderErrorKind;

void a_locked_instance_is_not_fetched_again(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  expect_equal(item.locked_until, scene.now() + kLockTimeout, "locked_until");
  expect(!item.token.value.empty(), "the token is empty");
  scene.fetch_nothing();
  scene.enqueue(event_message("order", "news"));
  scene.fetch_nothing();
  scene.advance(kLockTimeout - Milliseconds{1});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  const OrchestrationItem again = scene.fetch();
  expect_equal(again.instance, "order", "the instance");
  expect(again.token != item.token, "the token was given out twice");
}

void a_lock_holds_as_long_as_the_fetch_asked(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  OrchestrationFetch brief;
  brief.lock_timeout = Milliseconds{20};
  const OrchestrationItem item = scene.fetch(brief);
  expect_equal(item.locked_until, scene.now() + Milliseconds{20}, "locked_until");
  scene.advance(Milliseconds{19});
  scene.fetch_nothing();
  scene.advance(Milliseconds{1});
  scene.fetch();
}

void tokens_are_never_repeated(ProviderFactory& factory) {
  Scene scene(factory);
  std::set<std::string> tokens;
  for (int i = 0; i < 5; ++i) {
    scene.enqueue_start("order" + std::to_string(i));
    scene.enqueue_activity(activity("order" + std::to_string(i), 2));
  }
  // The same items again and again, at the same time: neither the clock nor the item tells these fetches apart.
  for (int round = 0; round < 4; ++round) {
    for (const OrchestrationItem& item : fetch_instances(scene, 5)) {
      expect(tokens.insert(item.token.value).second, "a token of an instance was repeated");
      abandon(scene, item.token);
    }
    for (const WorkItem& item : fetch_activities(scene, 5)) {
      expect(tokens.insert(item.token.value).second, "a token of an activity was repeated");
      abandon_work(scene, item.token);
    }
  }
  expect_equal(tokens.size(), std::size_t{40}, "the tokens");
}

void tokens_of_concurrent_fetches_are_distinct(ProviderFactory& factory) {
  Scene scene(factory);
  std::mutex mutex;
  std::multiset<std::string> tokens;
  in_parallel(8, [&](std::size_t thread) {
    for (int i = 0; i < 10; ++i) {
      const std::string instance = "order" + std::to_string(thread) + "-" + std::to_string(i);
      take(scene.store().enqueue_start(start_message(instance), StartPolicy::kFail));
      take(scene.store().enqueue_activity(activity(instance, 2)));
      const OrchestrationItem item = scene.fetch();
      const WorkItem work = scene.fetch_work();
      const std::scoped_lock lock(mutex);
      tokens.insert(item.token.value);
      tokens.insert(work.token.value);
    }
  });
  expect_equal(tokens.size(), std::size_t{160}, "the fetched items");
  expect_equal(std::set<std::string>(tokens.begin(), tokens.end()).size(), std::size_t{160}, "the distinct tokens");
}

void a_wrong_token_leaves_the_lock_alone(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  const LockToken wrong{"not " + item.token.value};
  TurnCommit commit = scene.first_commit_of(item);
  commit.token = wrong;
  expect_error(scene.store().ack_orchestration_item(commit), Kind::kLockLost);
  expect_error(scene.store().abandon_orchestration_item({.token = wrong}), Kind::kLockLost);
  expect_error(scene.store().renew_orchestration_lock(wrong, kLockTimeout), Kind::kLockLost);
  scene.fetch_nothing();
  scene.ack(scene.first_commit_of(item));
}

void a_used_token_opens_nothing(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem acked = scene.wake("order");
  scene.ack(scene.commit_of(acked));
  const OrchestrationItem abandoned = scene.wake("order");
  abandon(scene, abandoned.token);
  const OrchestrationItem held = scene.fetch();
  for (const LockToken& token : {acked.token, abandoned.token}) {
    TurnCommit commit = scene.commit_of(held);
    commit.token = token;
    expect_error(scene.store().ack_orchestration_item(commit), Kind::kLockLost);
    expect_error(scene.store().abandon_orchestration_item({.token = token}), Kind::kLockLost);
    expect_error(scene.store().renew_orchestration_lock(token, kLockTimeout), Kind::kLockLost);
    expect_error(scene.store().read_history(token, 0), Kind::kLockLost);
  }
  scene.fetch_nothing();
  scene.ack(scene.commit_of(held));
}

void concurrent_fetches_share_out_the_instances(ProviderFactory& factory) {
  Scene scene(factory);
  for (int i = 0; i < 10; ++i) scene.enqueue_start("order" + std::to_string(i));
  std::mutex mutex;
  std::multiset<std::string> fetched;
  in_parallel(10, [&](std::size_t) {
    const OrchestrationItem item = scene.fetch();
    const std::scoped_lock lock(mutex);
    fetched.insert(item.instance);
  });
  expect_equal(std::set<std::string>(fetched.begin(), fetched.end()).size(), std::size_t{10}, "the instances");
  scene.fetch_nothing();
}

void many_threads_never_get_the_same_instance(ProviderFactory& factory) {
  Scene scene(factory);
  for (int i = 0; i < 20; ++i) scene.enqueue_start("order" + std::to_string(i));
  std::mutex mutex;
  std::vector<std::string> fetched;
  in_parallel(40, [&](std::size_t thread) {
    OrchestrationFetch options;
    options.limit = 1 + thread % 3;
    const OrchestrationBatch batch = take(scene.store().fetch_orchestration_items(options));
    const std::scoped_lock lock(mutex);
    for (const OrchestrationItem& item : batch.items) fetched.push_back(item.instance);
  });
  expect_equal(fetched.size(), std::size_t{20}, "the items handed out");
  expect_equal(std::set<std::string>(fetched.begin(), fetched.end()).size(), std::size_t{20}, "the instances");
}

void of_many_fetches_of_one_instance_one_wins(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  for (int round = 0; round < 5; ++round) {
    scene.enqueue(event_message("order", "news"));
    std::mutex mutex;
    std::vector<OrchestrationItem> winners;
    in_parallel(8, [&](std::size_t) {
      const std::optional<OrchestrationItem> item = take(scene.store().fetch_orchestration_item());
      const std::scoped_lock lock(mutex);
      if (item) winners.push_back(*item);
    });
    expect_equal(winners.size(), std::size_t{1}, "the winners");
    expect_equal(winners.front().attempt_count, 1U, "the attempts that were counted");
    scene.ack(scene.commit_of(winners.front()));
  }
}

void an_instance_whose_holder_is_late_goes_to_another(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  const OrchestrationItem late = scene.wake("order");
  scene.advance(kLockTimeout);
  std::mutex mutex;
  std::vector<OrchestrationItem> winners;
  in_parallel(4, [&](std::size_t) {
    const std::optional<OrchestrationItem> item = take(scene.store().fetch_orchestration_item());
    const std::scoped_lock lock(mutex);
    if (item) winners.push_back(*item);
  });
  expect_equal(winners.size(), std::size_t{1}, "the new owners");
  expect_error(scene.store().ack_orchestration_item(scene.commit_of(late)), Kind::kLockLost);
  expect_error(scene.store().abandon_orchestration_item({.token = late.token}), Kind::kLockLost);
  expect_error(scene.store().renew_orchestration_lock(late.token, kLockTimeout), Kind::kLockLost);
  expect_error(scene.store().read_history(late.token, 0), Kind::kLockLost);
  scene.ack(scene.commit_of(winners.front()));
}

void what_arrives_under_a_lock_comes_after_it(ProviderFactory& factory) {
  Scene scene(factory);
  scene.enqueue_start("order");
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {start_message("order")});
  std::vector<MessageRecord> expected = {start_message("order")};
  for (EventId id = 2; id < 5; ++id) {
    expected.push_back(completion(activity("order", id), std::to_string(id)));
    scene.enqueue(expected.back());
    scene.fetch_nothing();
  }
  scene.advance(kLockTimeout);
  expect_messages(scene.fetch(), expected);
}

void a_commit_leaves_what_arrived_during_its_turn(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("order");
  scene.enqueue(event_message("order", "one"));
  scene.enqueue(event_message("order", "two"));
  const OrchestrationItem item = scene.fetch();
  expect_messages(item, {event_message("order", "one"), event_message("order", "two")});
  scene.enqueue(event_message("order", "three"));
  expect(scene.ack(scene.commit_of(item)).more_messages, "the third message is not announced");
  const OrchestrationItem next = scene.fetch();
  expect_messages(next, {event_message("order", "three")});
  scene.ack(scene.commit_of(next));
  scene.fetch_nothing();
}

void a_lock_concerns_its_instance_only(ProviderFactory& factory) {
  Scene scene(factory);
  scene.create("a");
  scene.create("b");
  const OrchestrationItem a = scene.wake("a");
  const OrchestrationItem b = scene.wake("b");
  scene.ack(scene.commit_of(b));
  const OrchestrationItem again = scene.wake("b");
  abandon(scene, again.token);
  expect_equal(scene.fetch().instance, "b", "the instance after abandoning b");
  scene.fetch_nothing();
  scene.ack(scene.commit_of(a));
}

}  // namespace

ValidationTests instance_lock_tests() {
  return {
      {"instance_lock", "a_locked_instance_is_not_fetched_again", &a_locked_instance_is_not_fetched_again},
      {"instance_lock", "a_lock_holds_as_long_as_the_fetch_asked", &a_lock_holds_as_long_as_the_fetch_asked},
      {"instance_lock", "tokens_are_never_repeated", &tokens_are_never_repeated},
      {"instance_lock", "tokens_of_concurrent_fetches_are_distinct", &tokens_of_concurrent_fetches_are_distinct},
      {"instance_lock", "a_wrong_token_leaves_the_lock_alone", &a_wrong_token_leaves_the_lock_alone},
      {"instance_lock", "a_used_token_opens_nothing", &a_used_token_opens_nothing},
      {"instance_lock", "concurrent_fetches_share_out_the_instances", &concurrent_fetches_share_out_the_instances},
      {"instance_lock", "many_threads_never_get_the_same_instance", &many_threads_never_get_the_same_instance},
      {"instance_lock", "of_many_fetches_of_one_instance_one_wins", &of_many_fetches_of_one_instance_one_wins},
      {"instance_lock", "an_instance_whose_holder_is_late_goes_to_another",
       &an_instance_whose_holder_is_late_goes_to_another},
      {"instance_lock", "what_arrives_under_a_lock_comes_after_it", &what_arrives_under_a_lock_comes_after_it},
      {"instance_lock", "a_commit_leaves_what_arrived_during_its_turn", &a_commit_leaves_what_arrived_during_its_turn},
      {"instance_lock", "a_lock_concerns_its_instance_only", &a_lock_concerns_its_instance_only},
  };
}

}  // namespace perdure::testing
