// What clients and nodes do: reads, waits that do not wait, registration, and time.
#include <algorithm>

#include "testing/comparison/invention.h"
#include "testing/comparison/operations.h"

namespace perdure::testing::comparison {

ProviderResult<std::optional<InstanceStatus>> read_status(const Run& run, Provider& store,
                                                          const std::string& instance) {
  auto status = store.read_status(instance);
  if (status && *status && run.was_imported(instance)) (*status)->incarnation = 0;
  return status;
}

void read_as_client(Run& run) {
  Invention invention(run);
  const std::string instance = run.dice().chance(5) ? std::string("unknown") : invention.instance();
  const auto described = [&](const char* method) { return Fields(method).add("of", instance).text(); };
  switch (run.dice().below(5)) {
    case 0:
      run.call([&] { return described("read_status"); },
               [&](Provider& store, Side) { return read_status(run, store, instance); });
      break;
    case 1: {
      const std::uint64_t seen = run.dice().below(4);
      run.call([&] { return Fields("read_custom_status").add("of", instance).add("seen", seen).text(); },
               [&](Provider& store, Side) { return store.read_custom_status(instance, seen); });
      break;
    }
    case 2: {
      const std::string key = run.dice().one_of(key_names());
      run.call([&] { return Fields("read_key_value").add("of", instance).add("key", key).text(); },
               [&](Provider& store, Side) { return store.read_key_value(instance, key); });
      break;
    }
    case 3:
      run.call([&] { return described("read_key_values"); },
               [&](Provider& store, Side) { return store.read_key_values(instance); });
      break;
    default:
      run.call([&] { return described("read_stats"); },
               [&](Provider& store, Side) { return store.read_stats(instance); });
      break;
  }
}

void wait_for_work(Run& run) {
  Both<WorkWait> waits;
  Invention invention(run);
  // A loss shows only if there is nothing to fetch.
  const bool watches = run.dice().chance(40);
  if (run.dice().chance(watches ? 15 : 70)) waits[0].orchestrations = invention.instance_fetch();
  if (run.dice().chance(watches ? 15 : 60)) waits[0].activities = invention.work_fetch();
  waits[1] = waits[0];
  for (std::size_t left = watches ? run.dice().between(1, 3) : 0; left > 0; --left) {
    const Both<LockToken> token = invention.work_token();
    for (Side side = 0; side < waits.size(); ++side) waits[side].held.push_back(token[side]);
  }
  const Timestamp deadline = run.now();
  run.call([&] { return Fields("wait_for_work").add("", waits[0]).text(); },
           [&](Provider& store, Side side) { return store.wait_for_work(waits[side], deadline); });
}

void wait_for_change(Run& run) {
  Invention invention(run);
  const std::string instance = invention.instance();
  InstanceChange change;
  change.ended = run.dice().chance(50);
  if (run.dice().chance(40)) change.custom_status_after = run.dice().below(4);
  if (run.dice().chance(40)) change.key_value = run.dice().one_of(key_names());
  // Half of them name the current incarnation.
  const bool names_current = run.dice().chance(50);
  if (run.dice().chance(40) && !run.was_imported(instance)) {
    const auto known = run.call([&] { return Fields("read_status").add("of", instance).text(); },
                                [&](Provider& store, Side) { return read_status(run, store, instance); })[0];
    const std::uint64_t current = known && *known ? (*known)->incarnation : 0;
    change.incarnation_other_than = names_current ? current : current + 1;
  }
  const Timestamp deadline = run.now();
  run.call([&] { return Fields("wait_for_change").add("of", instance).add("", change).text(); },
           [&](Provider& store, Side) {
             store.wake_waiters();  // nobody waits: it must not touch the wait that follows
             return store.wait_for_change(instance, change, deadline);
           });
}

void change_nodes(Run& run) {
  Invention invention(run);
  const std::string id = run.dice().one_of<std::string>({"node-1", "node-2", "Node-1", ""});
  if (run.dice().chance(40)) {
    run.call([&] { return Fields("remove_node").add("id", id).text(); },
             [&](Provider& store, Side) { return store.remove_node(id); });
    return;
  }
  const NodeInfo node = invention.node(id);
  run.call([&] { return Fields("register_node").add("", node).text(); },
           [&](Provider& store, Side) { return store.register_node(node); });
}

namespace {

// Stores differ in how long locks hold after store time has jumped: SQLite extends those of processes that are alive.
// So store time jumps only after the longest lock. A step forward that only reduces an offset is no jump.
void set_clock(Run& run) {
  constexpr Milliseconds kLongestLock{60'000};
  Dice& dice = run.dice();
  const Milliseconds by{dice.chance(70) ? dice.between(1, 2'000) : dice.between(2'000, 3'600'000)};
  const Milliseconds ahead = run.ahead();
  if (dice.chance(50)) return run.step(-by);
  if (dice.chance(50)) return run.step(std::min(by, ahead));
  run.advance(kLongestLock * 10 / 9 + Milliseconds(1));  // store time may advance at nine tenths
  run.step(by);
}

}  // namespace

void move_time(Run& run) {
  Dice& dice = run.dice();
  const std::size_t kind = dice.below(100);
  if (kind < 60) return run.advance(Milliseconds{dice.between(1, 500)});
  if (kind < 82) return run.advance(Milliseconds{dice.between(500, 5'000)});
  if (kind < 94) return run.advance(Milliseconds{dice.between(5'000, 60'000)});
  if (kind < 96) return set_clock(run);
  run.advance(run.orphan_retention() + Milliseconds{static_cast<std::int64_t>(dice.below(40'000)) - 20'000});
}

}  // namespace perdure::testing::comparison
