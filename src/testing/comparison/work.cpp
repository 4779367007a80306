// The worker queue.
#include <algorithm>
#include <utility>

#include "testing/comparison/invention.h"
#include "testing/comparison/operations.h"
#include "testing/validation/scene.h"

namespace perdure::testing::comparison {

namespace {

constexpr std::size_t kMostWork = 14;
constexpr std::size_t kMostEndedWork = 12;

void end_work(InFlight& known, const LockToken& reference_token) {
  const auto same = [&](const Both<WorkItem>& work) { return work[0].token == reference_token; };
  const auto ended = std::find_if(known.work.begin(), known.work.end(), same);
  if (ended == known.work.end()) return;
  remember(known.ended_work, {(*ended)[0].token, (*ended)[1].token}, kMostEndedWork);
  known.work.erase(ended);
}

// What the completion of this activity looks like, sometimes wrong.
std::optional<MessageRecord> invent_completion(Run& run, const LockToken& reference_token) {
  Invention invention(run);
  if (run.dice().chance(8)) return std::nullopt;
  if (run.dice().chance(3)) return invention.message(invention.instance());
  for (const Both<WorkItem>& work : run.in_flight().work) {
    if (work[0].token == reference_token) return invention.completion_of(work[0].record);
  }
  return invention.completion_of(activity(invention.instance(), 1));
}

}  // namespace

void fetch_work(Run& run) {
  const WorkFetch fetch = Invention(run).work_fetch();
  const auto answers = run.call([&] { return Fields("fetch_work_items").add("", fetch).text(); },
                                [&](Provider& store, Side) { return store.fetch_work_items(fetch); });
  if (!answers[0]) return;
  for (std::size_t i = 0; i < answers[0]->items.size(); ++i) {
    remember(run.in_flight().work, {answers[0]->items[i], answers[1]->items[i]}, kMostWork);
  }
}

void ack_work(Run& run) {
  std::vector<Both<WorkAck>> acks;
  for (std::size_t left = run.dice().chance(70) ? 1 : run.dice().between(2, 3); left > 0; --left) {
    const Both<LockToken> token = Invention(run).work_token();
    const std::optional<MessageRecord> completion = invent_completion(run, token[0]);
    acks.push_back(
        {WorkAck{.token = token[0], .completion = completion}, WorkAck{.token = token[1], .completion = completion}});
  }
  const auto answers = run.call([&] { return Fields("ack_work_items").add("", of_side(acks, 0)).text(); },
                                [&](Provider& store, Side side) { return store.ack_work_items(of_side(acks, side)); });
  for (std::size_t i = 0; i < acks.size(); ++i) {
    if (answers[0][i] || answers[0][i].error().kind() == ProviderErrorKind::kLockLost) {
      end_work(run.in_flight(), acks[i][0].token);
    }
  }
}

void abandon_work(Run& run) {
  std::vector<Both<Abandon>> abandons;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 3); left > 0; --left) {
    const Both<LockToken> token = invention.work_token();
    const Milliseconds delay = run.dice().chance(50) ? Milliseconds{0} : invention.delay();
    const bool ignore = run.dice().chance(40);
    const bool begun = run.dice().chance(50);
    abandons.push_back({Abandon{.token = token[0], .delay = delay, .ignore_attempt = ignore, .has_begun = begun},
                        Abandon{.token = token[1], .delay = delay, .ignore_attempt = ignore, .has_begun = begun}});
  }
  run.call([&] { return Fields("abandon_work_items").add("", of_side(abandons, 0)).text(); },
           [&](Provider& store, Side side) { return store.abandon_work_items(of_side(abandons, side)); });
  for (const Both<Abandon>& abandon : abandons) {
    if (run.dice().chance(70)) end_work(run.in_flight(), abandon[0].token);
  }
}

void renew_work(Run& run) {
  std::vector<Both<LockToken>> tokens;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 3); left > 0; --left) tokens.push_back(invention.work_token());
  const Milliseconds extend_for = invention.lease();
  run.call([&] { return Fields("renew_work_locks").add("", of_side(tokens, 0)).add("for", extend_for).text(); },
           [&](Provider& store, Side side) { return store.renew_work_locks(of_side(tokens, side), extend_for); });
}

void heartbeat(Run& run) {
  std::vector<Both<Heartbeat>> beats;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 3); left > 0; --left) {
    const Both<LockToken> token = invention.work_token();
    Heartbeat beat{.token = token[0], .details = invention.payload(), .extend_for = {}};
    if (run.dice().chance(60)) beat.extend_for = invention.lease();
    beats.push_back({beat, beat});
    beats.back()[1].token = token[1];
  }
  run.call([&] { return Fields("heartbeat").add("", of_side(beats, 0)).text(); },
           [&](Provider& store, Side side) { return store.heartbeat(of_side(beats, side)); });
}

void enqueue_activities(Run& run) {
  std::vector<MessageRecord> activities;
  Invention invention(run);
  for (std::size_t left = run.dice().between(1, 3); left > 0; --left) {
    const std::string instance = run.dice().chance(2) ? std::string() : invention.instance();
    const ExecutionId execution = run.dice().between(1, 2);
    const EventId id = run.dice().between(50, 60);
    activities.push_back(invention.activity(instance, execution, id));
    if (run.dice().chance(2)) activities.back().execution.reset();
    if (run.dice().chance(2)) activities.back().kind = MessageKind::kQueueMessage;
  }
  run.call([&] { return Fields("enqueue_activities").add("", activities).text(); },
           [&](Provider& store, Side) { return store.enqueue_activities(activities); });
}

void renew_sessions(Run& run) {
  std::vector<std::string> owners;
  Invention invention(run);
  for (std::size_t left = run.dice().below(4); left > 0; --left) owners.push_back(invention.owner());
  const Milliseconds extend_for = run.dice().chance(25) ? Milliseconds{0} : invention.lease();  // 0: given up
  const Milliseconds idle = invention.lease();
  run.call(
      [&] { return Fields("renew_sessions").add("owners", owners).add("for", extend_for).add("idle", idle).text(); },
      [&](Provider& store, Side) { return store.renew_sessions(owners, extend_for, idle); });
}

void cleanup_sessions(Run& run) {
  run.call([] { return std::string("cleanup_sessions"); },
           [](Provider& store, Side) { return store.cleanup_sessions(); });
}

}  // namespace perdure::testing::comparison
