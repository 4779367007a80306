// A power cut at every single write and sync of a short life, and of making the file: what was answered is there, and
// every change is there whole or not at all.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "providers/fault_vfs.h"
#include "providers/sqlite/schema.h"
#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

// Everything that a turn decides; locks and attempts may be forgotten.
std::string contents_of(const std::string& path) {
  constexpr std::array kTables = {
      "SELECT id || quote(name) || quote(version) || status || execution || last_event || commit_id || starts"
      " || quote(created_at) || quote(completed_at) FROM instances ORDER BY key",
      "SELECT key || ' ' || execution || status || quote(output) || started_at || quote(completed_at) FROM executions"
      " ORDER BY key, execution",
      "SELECT key || ' ' || execution || first_event || events || body_bytes || quote(data) FROM history ORDER BY id",
      "SELECT key || ' ' || kind || quote(execution) || name || visible_at || quote(body) FROM messages ORDER BY id",
      "SELECT key || ' ' || execution || activity_id || name || scheduled_at || quote(body) FROM activities ORDER BY "
      "id",
      "SELECT key || name || quote(value) || updated_at FROM key_values ORDER BY key, name",
      "SELECT key || name || quote(value) || updated_at FROM key_value_changes ORDER BY key, name",
      "SELECT key || quote(value) || version FROM custom_statuses ORDER BY key"};
  sqlite::Connection connection = open_plainly(path);
  std::string contents;
  for (const char* table : kTables) {
    contents += "--\n";
    sqlite::Query rows = connection.query(table);
    while (rows.step()) {
      contents += rows.text(0) + "\n";
    }
  }
  return contents;
}

void first_turn(Scene& scene) {
  const OrchestrationItem item = scene.fetch();
  TurnCommit commit = scene.first_commit_of(item);
  commit.events.push_back(event(2));
  commit.activities.push_back(activity("a", 2));
  commit.key_values.push_back(SetKeyValue{.key = "k", .value = std::string(5'000, 'x'), .updated_at = scene.now()});
  commit.custom_status = CustomStatusChange{.value = "begun"};
  commit.messages.push_back(start_message("b"));
  commit.messages.push_back(event_message("a", "self"));
  scene.ack(commit);
}

void second_turn(Scene& scene) {
  OrchestrationFetch fetch;
  fetch.limit = 2;
  const OrchestrationBatch batch = take(scene.store().fetch_orchestration_items(fetch));
  std::vector<TurnCommit> commits;
  for (const OrchestrationItem& item : batch.items) {
    TurnCommit commit = item.instance == "a" ? scene.commit_of(item) : scene.first_commit_of(item);
    if (item.instance == "a") commit.events.push_back(event(3));
    commit.custom_status = CustomStatusChange{.value = "goes on"};
    commits.push_back(commit);
  }
  for (const auto& answer : scene.store().ack_orchestration_items(commits)) take(answer);
}

// Each step is one durable change.
const std::vector<std::function<void(Scene&)>>& life() {
  static const std::vector<std::function<void(Scene&)>> steps{
      [](Scene& scene) { scene.enqueue_start("a"); },
      first_turn,
      [](Scene& scene) { scene.ack_work(scene.fetch_work()); },
      second_turn,
      [](Scene& scene) { scene.enqueue(event_message("a", "last")); },
      [](Scene& scene) {
        const OrchestrationItem item = scene.fetch();
        TurnCommit commit = scene.commit_of(item);
        commit.events.push_back(event(4));
        commit.status = StatusChange{.status = ExecutionStatus::kCompleted, .output = "\"out\""};
        scene.ack(commit);
      },
      [](Scene& scene) { take(scene.admin().delete_instance("a", false)); },
  };
  return steps;
}

// The contents after 0, 1, 2, ... steps of an undisturbed life.
std::vector<std::string> undisturbed() {
  const TemporaryFolder folder;
  SqliteFile file(folder.file("store.db"));
  Scene scene(file);
  std::vector<std::string> contents{contents_of(file.path())};
  for (const auto& step : life()) {
    step(scene);
    contents.push_back(contents_of(file.path()));
  }
  return contents;
}

struct Outcome {
  std::size_t answered = 0;  // steps
  bool lost_power = false;
};

// Lives until the power goes, after that many changes of the disk.
Outcome live(FaultVfs& disk, const std::string& path, std::uint64_t changes) {
  Outcome outcome;
  disk.lose_power_after(changes);
  try {
    SqliteFile file(path, disk.name());
    Scene scene(file);
    for (const auto& step : life()) {
      step(scene);
      ++outcome.answered;
    }
  } catch (const ProviderFailure&) {
  } catch (const ValidationFailure&) {
  }
  outcome.lost_power = disk.has_lost_power();
  return outcome;
}

void check_survivors(const std::string& path, const Outcome& outcome, const std::vector<std::string>& expected) {
  SqliteFile file(path);
  Scene scene(file);  // before anybody else, who might repair something
  EXPECT_EQ(integrity_of(path), "ok");
  const std::string contents = contents_of(path);
  const bool is_next = outcome.answered + 1 < expected.size() && contents == expected[outcome.answered + 1];
  EXPECT_TRUE(is_next || contents == expected[outcome.answered]) << "after " << outcome.answered << " answers:\n"
                                                                 << contents;
  scene.enqueue_start("after");  // and it goes on
}

void cut_power_everywhere(std::uint64_t step, bool keep_some) {
  const std::vector<std::string> expected = undisturbed();
  for (std::uint64_t changes = 0;; changes += step) {
    SCOPED_TRACE("power cut after " + std::to_string(changes) + " changes");
    const TemporaryFolder folder;
    const std::string path = folder.file("store.db");
    FaultVfs disk;
    const Outcome outcome = live(disk, path, changes);
    disk.restore_files(keep_some ? std::optional(static_cast<std::uint32_t>(changes)) : std::nullopt);
    check_survivors(path, outcome, expected);
    if (::testing::Test::HasFailure()) return;
    if (!outcome.lost_power) return;
  }
}

TEST(SqliteCrash, LosesNothingThatWasAnswered) {
  cut_power_everywhere(1, false);
}

TEST(SqliteCrash, SurvivesADiskThatKeptSomeOfTheRest) {
  cut_power_everywhere(1, true);
}

// ---- Migrations ----

constexpr const char* kSecondVersion =
    "CREATE TABLE second(id INTEGER PRIMARY KEY, text TEXT); INSERT INTO second VALUES(1, 'one');"
    "ALTER TABLE instances ADD COLUMN second INTEGER; UPDATE instances SET second = key";

void make_store(const std::string& path) {
  SqliteFile file(path);
  Scene scene(file);
  scene.create("kept");
}

TEST(SqliteCrash, AMigrationIsDoneOrNot) {
  const std::array<const char*, 2> steps{sqlite::migrations().front(), kSecondVersion};
  bool lost_power = true;
  for (std::uint64_t changes = 0; lost_power; ++changes) {
    SCOPED_TRACE("power cut after " + std::to_string(changes) + " changes");
    const TemporaryFolder folder;
    const std::string path = folder.file("store.db");
    make_store(path);
    FaultVfs disk;
    disk.lose_power_after(changes);
    bool answered = false;
    try {
      sqlite::Connection connection(path, sqlite::Connection::Mode::kReadWrite, Milliseconds{1'000}, disk.name());
      sqlite::migrate(connection, path, steps);
      answered = true;
    } catch (const sqlite::SqliteError&) {
    }
    lost_power = disk.has_lost_power();
    disk.restore_files(static_cast<std::uint32_t>(changes));
    ASSERT_EQ(integrity_of(path), "ok");
    sqlite::Connection connection = open_plainly(path);
    const std::int64_t version = connection.integer("PRAGMA user_version");
    EXPECT_TRUE(version == 2 || (!answered && version == 1));
    EXPECT_EQ(connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'second'"), version - 1);
    if (version == 1) {
      SqliteFile file(path);
      EXPECT_TRUE(take(Scene(file).store().read_status("kept")));
    }
    sqlite::migrate(connection, path, steps);
    EXPECT_EQ(connection.integer("SELECT count(*) FROM second"), 1);
    EXPECT_EQ(connection.integer("SELECT count(*) FROM instances WHERE second = key"), 1);
  }
}

TEST(SqliteCrash, AMigrationThatFailsLeavesTheVersionBefore) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  make_store(path);
  const std::array<const char*, 2> steps{
      sqlite::migrations().front(),
      "CREATE TABLE second(id INTEGER); INSERT INTO second VALUES(1); INSERT INTO nowhere VALUES(2)"};
  sqlite::Connection connection = open_plainly(path);
  EXPECT_THROW(sqlite::migrate(connection, path, steps), sqlite::SqliteError);
  EXPECT_FALSE(connection.in_transaction());
  EXPECT_EQ(connection.integer("PRAGMA user_version"), 1);
  EXPECT_EQ(connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'second'"), 0);
  SqliteFile file(path);
  EXPECT_TRUE(take(Scene(file).store().read_status("kept")));
}

}  // namespace
}  // namespace perdure::testing
