// Disks that are full or fail while workflows run: no workflow fails because of it, and all end as they should.
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <perdure/perdure.h>
#include "providers/fault_vfs.h"
#include "support/outage_workflows.h"
#include "support/temporary_folder.h"

namespace perdure::testing {
namespace {

using namespace std::chrono_literals;

class SqliteOutage : public ::testing::Test {
 protected:
  SqliteOutage() { open(); }
  ~SqliteOutage() override { workflows.close(); }

  // Statements of the test, such as a trigger that refuses the activities of one workflow.
  void change_schema(const std::string& statements) {
    sqlite3* raw = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &raw), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(raw, statements.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    sqlite3_close(raw);
  }
  // Whenever "bad" schedules an activity, the store runs `statement`, which fails. Only "bad" ends, with these words.
  void expect_only_bad_is_poison(const std::string& statement, const std::string& words) {
    change_schema(
        "CREATE TABLE test_numbers(number INTEGER PRIMARY KEY);"
        "CREATE TRIGGER test_refuses BEFORE INSERT ON activities"
        " WHEN (SELECT id FROM instances WHERE key = NEW.key) = 'bad' BEGIN " +
        statement + "; END");
    workflows.start("bad");
    workflows.begin();
    workflows.expect_poison("bad", words);
    workflows.expect_completed();
  }

  void open() {
    SqliteOptions options;
    options.clock = clock;
    options.vfs = disk.name();
    workflows.open(SqliteProvider::open(file, options));
  }

  test::TemporaryFolder folder;
  const std::string file = folder.file("store.db");
  FaultVfs disk;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(Timestamp(Milliseconds(1'700'000'000'000)));
  test::OutageWorkflows workflows{[this](Milliseconds time) { clock->advance(time); }};
};

TEST_F(SqliteOutage, MinutesOfAFullDiskPoisonNothing) {
  workflows.begin();
  workflows.take_steps(40);
  // A fetch writes little, which still fits.
  disk.set_hook([this](const FileOperation& operation) {
    return operation.call == FileCall::kWrite && workflows.writes() ? Fault::kDiskFull : Fault::kNone;
  });
  workflows.pass(2min);
  disk.set_hook([](const FileOperation& operation) {
    return operation.call == FileCall::kWrite ? Fault::kDiskFull : Fault::kNone;
  });
  workflows.pass(2min);
  disk.set_hook({});
  workflows.expect_completed();
}

TEST_F(SqliteOutage, WorkResumesWithinFiveSecondsOnceSpaceIsFreed) {
  workflows.begin();
  workflows.take_steps(40);
  disk.set_capacity(0);
  workflows.pass(2min);
  const std::uint64_t before = workflows.client().get_system_metrics().events;
  disk.set_capacity(std::nullopt);
  workflows.pass(5s);
  EXPECT_GT(workflows.client().get_system_metrics().events, before);
  workflows.pass(5s);
  for (int number = 0; number < 8; ++number) {
    const std::string instance = "w" + std::to_string(number);
    EXPECT_TRUE(workflows.client().get_orchestration_status(instance).completed()) << instance;
  }
}

// SQLite does not report what is on the disk then, so the store must be reopened.
TEST_F(SqliteOutage, ADiskThatFailsPoisonsNothingAndTheStoreGoesOnWhenItIsReopened) {
  workflows.begin();
  for (int outage = 0; outage < 5; ++outage) {
    workflows.take_steps(10);
    disk.set_hook([](const FileOperation& operation) {
      return operation.call == FileCall::kSync ? Fault::kInputOutput : Fault::kNone;
    });
    workflows.pass(10s);
    disk.set_hook({});
    workflows.close();
    open();
  }
  workflows.expect_completed();
}

TEST_F(SqliteOutage, AWorkflowThatBreaksAConstraintEndsAsPoisonAndNoOther) {
  expect_only_bad_is_poison("SELECT RAISE(ABORT, 'the test says no')", "the test says no");
}

TEST_F(SqliteOutage, AWorkflowWithAValueThatIsTooBigEndsAsPoisonAndNoOther) {
  expect_only_bad_is_poison("SELECT zeroblob(2000000000)", "string or blob too big");
}

TEST_F(SqliteOutage, AWorkflowWithAValueOfAnotherTypeEndsAsPoisonAndNoOther) {
  expect_only_bad_is_poison("INSERT INTO test_numbers VALUES('no number')", "datatype mismatch");
}

}  // namespace
}  // namespace perdure::testing
