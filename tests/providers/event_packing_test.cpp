// What the store packs itself: the events of a commit in one blob, and lock tokens.
#include "providers/event_packing.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "providers/lock_names.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

EventRecord record(EventId id, std::string body) {
  EventRecord event;
  event.event_id = id;
  event.kind = 7;
  event.turn = 3;
  event.time = Timestamp(Milliseconds{1'700'000'000'123});
  event.body = std::move(body);
  return event;
}

std::vector<EventRecord> awkward_events() {
  std::vector<EventRecord> events{record(1, ""), record(2, "{}"), record(3, "1 2 3 4 5\nx\n"), record(4, "\n")};
  events.push_back(record(5, std::string("\0\n\xff 9", 5)));
  EventRecord extreme = record(std::numeric_limits<EventId>::max(), std::string(70'000, 'x'));
  extreme.kind = std::numeric_limits<std::uint16_t>::max();
  extreme.turn = std::numeric_limits<TurnNumber>::max();
  extreme.time = Timestamp(Milliseconds::min());
  events.push_back(extreme);
  return events;
}

TEST(SqlitePacking, WhatIsPackedComesBack) {
  const std::vector<EventRecord> events = awkward_events();
  std::vector<EventRecord> unpacked;
  ASSERT_TRUE(unpack_events(pack_events(events), unpacked));
  EXPECT_EQ(unpacked, events);
}

TEST(SqlitePacking, NothingIsNoBytes) {
  std::vector<EventRecord> unpacked;
  EXPECT_EQ(pack_events({}), "");
  EXPECT_TRUE(unpack_events("", unpacked));
  EXPECT_TRUE(unpacked.empty());
}

TEST(SqlitePacking, AppendsToWhatIsThere) {
  std::vector<EventRecord> unpacked{record(1, "a")};
  const std::vector<EventRecord> more{record(2, "b")};
  ASSERT_TRUE(unpack_events(pack_events(more), unpacked));
  EXPECT_EQ(unpacked, (std::vector{record(1, "a"), record(2, "b")}));
}

TEST(SqlitePacking, EveryCutIsNoticed) {
  const std::vector<EventRecord> events{record(1, "first"), record(2, "second")};
  const std::string data = pack_events(events);
  const std::size_t boundary = pack_events(std::span(events).first(1)).size();
  for (std::size_t size = 1; size < data.size(); ++size) {
    std::vector<EventRecord> unpacked;
    // A cut between two events is legible; the number of events beside the blob shows it.
    EXPECT_EQ(unpack_events(std::string_view(data).substr(0, size), unpacked), size == boundary) << size;
  }
}

TEST(SqlitePacking, BytesThatNobodyPackedAreRefused) {
  const std::vector<std::string> hostile{
      "x",
      "\n",
      " ",
      "1",
      "1 2 3 4 5",
      "1 2 3 4 5\n",
      "1 2 3 4 1\nab",
      "1 2 3 4 -1\na\n",
      "-1 2 3 4 1\na\n",
      "+1 2 3 4 1\na\n",
      " 1 2 3 4 1\na\n",
      "1  2 3 4 1\na\n",
      "1 65536 3 4 1\na\n",                 // a kind that does not fit
      "18446744073709551616 2 3 4 1\na\n",  // an id that does not fit
      "1 2 3 4 18446744073709551615\na\n",  // a size that is all memory: nothing is reserved for it
      "1 2 3 4 18446744073709551614\na\n",
      "1 2 3 4 9223372036854775807\na\n",
      "1 2 3 9223372036854775808 1\na\n",
      "1 2 3 4 1\na\n1",
      "0x1 2 3 4 1\na\n",
      "1.0 2 3 4 1\na\n",
      std::string("\0\0\0\0", 4),
      "\xff\xfe",
  };
  for (const std::string& data : hostile) {
    std::vector<EventRecord> unpacked;
    EXPECT_FALSE(unpack_events(data, unpacked)) << data;
  }
}

TEST(SqlitePacking, FlippedBytesNeverMakeMoreThanTheyAre) {
  const std::string data = pack_events(std::vector{record(1, "first"), record(2, "second")});
  for (std::size_t at = 0; at < data.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = data;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      std::vector<EventRecord> unpacked;
      static_cast<void>(unpack_events(flipped, unpacked));
      std::size_t bytes = 0;
      for (const EventRecord& event : unpacked) bytes += event.body.size();
      EXPECT_LT(bytes, data.size());
    }
  }
}

TEST(SqlitePacking, DamagedRowsAreToldNotRead) {
  const std::vector<std::string> damages{
      "UPDATE history SET data = x''",
      "UPDATE history SET data = x'', events = 0",
      "UPDATE history SET events = 0",
      "UPDATE history SET events = events + 1",
      "UPDATE history SET events = -1",
      "UPDATE history SET first_event = first_event + 7",
      "UPDATE history SET data = CAST(replace(CAST(data AS TEXT), '2 ', '3 ') AS BLOB)",
      "UPDATE history SET data = substr(data, 1, length(data) - 1)",
      "DELETE FROM history WHERE first_event = 2",
      "UPDATE history SET data = 'text', events = 'many'",
  };
  for (const std::string& damage : damages) {
    const TemporaryFolder folder;
    SqliteFile file(folder.file("store.db"));
    Scene scene(file);
    scene.create("a");
    scene.turn("a", [](TurnCommit&) {});
    scene.turn("a", [](TurnCommit&) {});
    open_plainly(file.path()).execute(damage.c_str());
    const OrchestrationItem item = scene.wake("a");
    ASSERT_TRUE(item.history) << damage;
    EXPECT_TRUE(item.history->error) << damage;
    EXPECT_TRUE(item.history->events.empty()) << damage;
    const auto read = scene.admin().read_history("a", std::nullopt, 0);
    ASSERT_FALSE(read) << damage;
    EXPECT_EQ(read.error().kind(), ProviderErrorKind::kCorruptData) << damage;
  }
}

TEST(SqliteTokens, NameTheirRow) {
  for (const std::int64_t secret :
       {std::int64_t{99}, claim_secret(std::numeric_limits<CommitId>::max()), claim_secret(CommitId{1} << 63U)}) {
    const LockName name{.queue = 'a', .row = 17, .secret = secret};
    const std::optional<LockName> read = read_token(make_token(name), 'a');
    ASSERT_TRUE(read) << secret;
    EXPECT_EQ(read->row, 17);
    EXPECT_EQ(read->secret, secret);
    EXPECT_FALSE(read_token(make_token(name), 'i'));
  }
}

// Tokens that look like those of this store, and others.
std::vector<LockToken> garbage(const LockToken& good) {
  std::vector<LockToken> tokens{{""},
                                {"i"},
                                {"a"},
                                {"i1"},
                                {"i1-"},
                                {"i-1"},
                                {"i--"},
                                {"i1-1x"},
                                {"i1 -1"},
                                {"i0-0"},
                                {"a0-0"},
                                {"i-1--1"},
                                {"i9223372036854775807-9223372036854775807"},
                                {"a9223372036854775807-9223372036854775807"},
                                {"i9223372036854775808-1"},
                                {"i1-9223372036854775808"},
                                {"x1-1"},
                                {"i1-1; DROP TABLE instances"},
                                {std::string("i1-1\0", 5)},
                                {std::string("\0", 1)},
                                {std::string(100'000, '9')},
                                {"i" + std::string(100'000, '9') + "-1"},
                                {"\xff\xfe\xfd"}};
  tokens.push_back({good.value + " "});
  tokens.push_back({" " + good.value});
  tokens.push_back({good.value + "0"});
  tokens.push_back({good.value.substr(0, good.value.size() - 1)});
  tokens.push_back({(good.value.front() == 'i' ? "a" : "i") + good.value.substr(1)});
  return tokens;
}

TEST(SqliteTokens, GarbageOpensNothing) {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  scene.create_with_activities("a", {activity("a", 2)});
  const OrchestrationItem item = scene.wake("a");
  const WorkItem work = scene.fetch_work();
  Provider& store = scene.store();
  std::vector<LockToken> tokens = garbage(item.token);
  for (const LockToken& token : garbage(work.token)) tokens.push_back(token);
  const auto is_lost = [](const auto& answer) {
    return !answer.has_value() && answer.error().kind() == ProviderErrorKind::kLockLost;
  };
  for (const LockToken& token : tokens) {
    TurnCommit commit = scene.commit_of(item);
    commit.token = token;
    EXPECT_TRUE(is_lost(store.ack_orchestration_item(commit))) << token.value;
    commit.token = item.token;
    commit.completed_work.push_back(token);
    EXPECT_TRUE(is_lost(store.ack_orchestration_item(commit))) << token.value;
    EXPECT_TRUE(is_lost(store.abandon_orchestration_item({.token = token}))) << token.value;
    EXPECT_TRUE(is_lost(store.renew_orchestration_lock(token, Milliseconds{1}))) << token.value;
    EXPECT_TRUE(is_lost(store.read_history(token, 0))) << token.value;
    EXPECT_TRUE(is_lost(store.ack_work_item({.token = token, .completion = {}}))) << token.value;
    EXPECT_TRUE(is_lost(store.renew_work_lock(token, Milliseconds{1}))) << token.value;
    const std::vector<Heartbeat> beats{{.token = token, .details = {}, .extend_for = {}}};
    EXPECT_TRUE(is_lost(store.heartbeat(beats).front())) << token.value;
    EXPECT_TRUE(store.abandon_work_item({.token = token})) << token.value;  // nothing left to give back
  }
  scene.ack_work(work);
  scene.ack(scene.commit_of(item));
}

}  // namespace
}  // namespace perdure::testing
