// The orchestrator queue.
#include <algorithm>
#include <utility>

#include "testing/comparison/invention.h"
#include "testing/comparison/operations.h"
#include "testing/comparison/turn_invention.h"
#include "testing/validation/scene.h"

namespace perdure::testing::comparison {

namespace {

constexpr std::size_t kMostTurns = 10;
constexpr std::size_t kMostEndedTurns = 12;

std::string shown(const Run& run, const StoredHistory& history, const std::string& instance, ExecutionId execution) {
  return run.is_damaged(instance, execution) ? "history of damaged events" : text_of(history);
}

std::string shown(const Run& run, const ProviderResult<OrchestrationBatch>& batch) {
  if (!batch) return text_of(batch.error());
  OrchestrationBatch whole = *batch;
  for (OrchestrationItem& item : whole.items) {
    if (item.history && run.is_damaged(item.instance, item.execution_id)) item.history = StoredHistory{};
    if (run.was_imported(item.instance)) item.incarnation = 0;
  }
  return text_of(whole);
}

void end_turn(InFlight& known, std::size_t index) {
  const Both<OrchestrationItem> ended = std::move(known.turns[index]);
  known.turns.erase(known.turns.begin() + static_cast<std::ptrdiff_t>(index));
  remember(known.ended_turns, {ended[0].token, ended[1].token}, kMostEndedTurns);
}

// A commit that is repeated lists what is known already.
void note_claimed(InFlight& known, const Both<TurnCommit>& commits, const Both<CommitAnswer>& answers) {
  for (std::size_t i = 0; i < answers[0].claimed.size(); ++i) {
    Both<WorkItem> work;
    for (const Side side : {0U, 1U}) {
      const ClaimedActivity& claimed = answers[side].claimed[i];
      work[side].token = claimed.token;
      work[side].locked_until = claimed.locked_until;
      work[side].attempt_count = 1;
      work[side].record = commits[side].activities[claimed.index];
    }
    const auto same = [&](const Both<WorkItem>& other) {
      return other[0].token == work[0].token && other[1].token == work[1].token;
    };
    if (std::none_of(known.work.begin(), known.work.end(), same)) remember(known.work, std::move(work), kMostTurns);
  }
}

// A lock that was kept is still good for a turn, on top of this one.
void note_commit(InFlight& known, const Both<TurnCommit>& commits, const Both<CommitAnswer>& answers) {
  const auto same = [&](const Both<OrchestrationItem>& turn) { return turn[0].token == commits[0].token; };
  const auto turn = std::find_if(known.turns.begin(), known.turns.end(), same);
  if (turn == known.turns.end()) return;
  if (!answers[0].locked_until) {
    end_turn(known, static_cast<std::size_t>(turn - known.turns.begin()));
    return;
  }
  for (OrchestrationItem& item : *turn) {
    if (!item.metadata && commits[0].started) item.metadata.emplace();
    if (item.metadata && commits[0].status) item.metadata->status = commits[0].status->status;
    if (item.execution_id != commits[0].execution_id) item.last_event_id = 0;
    item.execution_id = commits[0].execution_id;
    item.last_event_id += commits[0].events.size();
    item.messages.clear();
    item.end_requests.clear();
  }
}

// A store may give the number of a message that is gone to a new one, so nobody names it twice.
void forget_consumed(Both<TurnCommit>& commits) {
  for (TurnCommit& commit : commits) commit.consumed.clear();
}

void commit(Run& run, const std::vector<Both<TurnCommit>>& commits) {
  const auto answers =
      run.call([&] { return Fields("ack_orchestration_items").add("commits", of_side(commits, 0)).text(); },
               [&](Provider& store, Side side) { return store.ack_orchestration_items(of_side(commits, side)); });
  for (std::size_t i = 0; i < commits.size(); ++i) {
    remember(run.in_flight().commits, commits[i], kMostEndedTurns);
    if (!answers[0][i]) continue;
    const Both<CommitAnswer> both{*answers[0][i], *answers[1][i]};
    note_claimed(run.in_flight(), commits[i], both);
    note_commit(run.in_flight(), commits[i], both);
  }
}

}  // namespace

void fetch_instances(Run& run) {
  const OrchestrationFetch fetch = Invention(run).instance_fetch();
  const auto answers = run.call_and_show([&] { return Fields("fetch_orchestration_items").add("", fetch).text(); },
                                         [&](Provider& store, Side) { return store.fetch_orchestration_items(fetch); },
                                         [&](const auto& answer, Side) { return shown(run, answer); });
  if (!answers[0]) return;
  for (std::size_t i = 0; i < answers[0]->items.size(); ++i) {
    InFlight& known = run.in_flight();
    if (known.turns.size() >= kMostTurns) end_turn(known, 0);
    known.turns.push_back({answers[0]->items[i], answers[1]->items[i]});
  }
}

void compare_what_is_left(Run& run) {
  OrchestrationFetch instances;
  instances.limit = 100;
  WorkFetch activities;
  activities.limit = 100;
  activities.tags = TagFilter::any();
  activities.session.emplace();
  activities.session->owner = "the last";
  for (const Milliseconds wait : {Milliseconds{0}, Milliseconds{61'000}, run.orphan_retention() + Milliseconds{1}}) {
    run.advance(wait);
    run.call_and_show([] { return std::string("the instances that are left"); },
                      [&](Provider& store, Side) { return store.fetch_orchestration_items(instances); },
                      [&](const auto& answer, Side) { return shown(run, answer); });
    run.call([] { return std::string("the activities that are left"); },
             [&](Provider& store, Side) { return store.fetch_work_items(activities); });
  }
}

void commit_turns(Run& run) {
  if (run.in_flight().turns.empty()) return fetch_instances(run);
  std::vector<Both<TurnCommit>> commits;
  const std::size_t count = run.dice().chance(75) ? 1 : run.dice().between(2, 3);
  for (std::size_t i = 0; i < count; ++i) {
    // The latest as a rule: its lock is likely to hold.
    const std::size_t known = run.in_flight().turns.size();
    const bool again = !commits.empty();
    commits.push_back(invent_commit(run, run.dice().chance(60) ? known - 1 : run.dice().below(known)));
    if (again) forget_consumed(commits.back());
  }
  if (run.dice().chance(3)) {
    const Both<LockToken> token = Invention(run).turn_token();
    for (const Side side : {0U, 1U}) commits.back()[side].token = token[side];
  }
  commit(run, commits);
}

void repeat_commit(Run& run) {
  if (run.in_flight().commits.empty()) return;
  Both<TurnCommit> again =
      run.dice().chance(60) ? run.in_flight().commits.back() : run.dice().one_of(run.in_flight().commits);
  forget_consumed(again);
  commit(run, {again});
}

void abandon_turns(Run& run) {
  std::vector<Both<Abandon>> abandons;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 3); left > 0; --left) {
    const Both<LockToken> token = invention.turn_token();
    const Milliseconds delay = run.dice().chance(50) ? Milliseconds{0} : invention.delay();
    const bool ignore = run.dice().chance(40);
    abandons.push_back({Abandon{.token = token[0], .delay = delay, .ignore_attempt = ignore},
                        Abandon{.token = token[1], .delay = delay, .ignore_attempt = ignore}});
  }
  run.call([&] { return Fields("abandon_orchestration_items").add("", of_side(abandons, 0)).text(); },
           [&](Provider& store, Side side) { return store.abandon_orchestration_items(of_side(abandons, side)); });
}

void renew_turns(Run& run) {
  std::vector<Both<LockToken>> tokens;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 3); left > 0; --left) tokens.push_back(invention.turn_token());
  const Milliseconds extend_for = invention.lease();
  run.call(
      [&] { return Fields("renew_orchestration_locks").add("", of_side(tokens, 0)).add("for", extend_for).text(); },
      [&](Provider& store, Side side) { return store.renew_orchestration_locks(of_side(tokens, side), extend_for); });
}

void read_locked_history(Run& run) {
  if (run.in_flight().turns.empty()) return;
  const Both<OrchestrationItem> turn = run.dice().one_of(run.in_flight().turns);
  const EventId after = run.dice().chance(50) ? 0 : run.dice().below(turn[0].last_event_id + 2);
  run.call_and_show([&] { return Fields("read_history").add("of", turn[0].instance).add("after", after).text(); },
                    [&](Provider& store, Side side) { return store.read_history(turn[side].token, after); },
                    [&](const ProviderResult<StoredHistory>& answer, Side) {
                      if (!answer) return text_of(answer.error());
                      // Another owner of a kept lock may have begun the next execution meanwhile.
                      return run.is_damaged(turn[0].instance)
                                 ? "history of damaged events"
                                 : shown(run, *answer, turn[0].instance, turn[0].execution_id);
                    });
}

void enqueue_messages(Run& run) {
  std::vector<MessageRecord> messages;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 4); left > 0; --left) {
    const std::string instance = run.dice().chance(2) ? std::string() : invention.instance();
    messages.push_back(run.dice().chance(2) ? invention.activity(instance, 1, 1) : invention.message(instance));
  }
  run.call([&] { return Fields("enqueue_messages").add("", messages).text(); },
           [&](Provider& store, Side) { return store.enqueue_messages(messages); });
}

void enqueue_start(Run& run) {
  Invention invention(run);
  const std::string instance = run.dice().chance(2) ? std::string() : invention.instance();
  const MessageRecord start = run.dice().chance(2) ? event_message(instance, "no start") : invention.start(instance);
  const StartPolicy policy =
      run.dice().one_of({StartPolicy::kIgnore, StartPolicy::kFail, StartPolicy::kReplaceIfTerminal});
  run.call([&] { return Fields("enqueue_start").add("", start).add("policy", policy).text(); },
           [&](Provider& store, Side) { return store.enqueue_start(start, policy); });
}

void address_orphan(Run& run) {
  Invention invention(run);
  Dice& dice = run.dice();
  const std::string instance = invention.instance();
  run.call_admin([&] { return Fields("delete_instance").add("", instance).text(); },
                 [&](ProviderAdmin& admin, Side) { return admin.delete_instance(instance, true); });
  for (std::size_t rounds = dice.between(1, 2); rounds > 0; --rounds) {
    std::vector<MessageRecord> messages;
    for (std::size_t left = dice.between(1, 4); left > 0; --left) {
      messages.push_back(dice.chance(50) ? queue_message(instance, invention.bytes()) : invention.message(instance));
      if (dice.chance(20)) messages.back().visible_at = run.now() + run.orphan_retention() / 2;
    }
    run.call([&] { return Fields("enqueue_messages").add("", messages).text(); },
             [&](Provider& store, Side) { return store.enqueue_messages(messages); });
    if (dice.chance(40))
      run.advance(run.orphan_retention() / 2 + Milliseconds{static_cast<std::int64_t>(dice.below(3)) - 1});
  }
  if (dice.chance(50)) return;
  const MessageRecord start = invention.start(instance);
  run.call([&] { return Fields("enqueue_start").add("", start).text(); },
           [&](Provider& store, Side) { return store.enqueue_start(start, StartPolicy::kIgnore); });
}

}  // namespace perdure::testing::comparison
