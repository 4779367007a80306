// A server that raises errors for minutes, whatever their code: workflows wait for it, and none of them fails. If the
// server refuses the data of a single workflow, that workflow ends with the error of the server.
#include <string>

#include <gtest/gtest.h>

#include "support/outage_workflows.h"
#include "support/postgres_schema.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"

namespace perdure::test {
namespace {

using namespace std::chrono_literals;

class FailingServer : public ::testing::TestWithParam<std::string> {
 protected:
  FailingServer() : session(shared_postgres_url()) { workflows.open(schema.connect()); }
  ~FailingServer() override { heal(); }

  // Writes to this table fail with this code, if the condition on the new row holds.
  void fail(const std::string& state, const std::string& table, const std::string& condition = "true") {
    session.execute("CREATE FUNCTION " + schema.name() +
                    ".test_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF " + condition +
                    " THEN RAISE EXCEPTION 'the test says no' USING ERRCODE = '" + state +
                    "'; END IF; RETURN NEW; END $$; CREATE TRIGGER test_fail BEFORE INSERT OR UPDATE ON " +
                    schema.name() + "." + table + " FOR EACH ROW EXECUTE FUNCTION " + schema.name() + ".test_fail()");
  }
  void heal() { session.execute("DROP FUNCTION IF EXISTS " + schema.name() + ".test_fail() CASCADE"); }

  PostgresSchema schema{Timestamp(Milliseconds(1'700'000'000'000))};
  PostgresSession session;
  OutageWorkflows workflows{[this](Milliseconds time) { schema.advance(time); }};
};
// An internal error, a full disk, a missing privilege, a custom code.
INSTANTIATE_TEST_SUITE_P(States, FailingServer, ::testing::Values("XX000", "53100", "42501", "P0001", "PX123"),
                         [](const auto& state) { return state.param; });

TEST_P(FailingServer, PoisonsNothingAndIsWaitedFor) {
  workflows.begin();
  workflows.take_steps(40);
  fail(GetParam(), "history");
  workflows.pass(2min);
  heal();
  workflows.expect_completed();
}

// Outcomes need a table that the server can write. They show nothing about turns.
TEST_P(FailingServer, PoisonsNothingIfOnlyHistoriesCannotGrow) {
  workflows.begin();
  workflows.fan_out("wide", 200);
  workflows.step_until([&] { return workflows.client().list_executions("wide").size() == 1; });
  fail(GetParam(), "history");
  workflows.pass(4min);
  heal();
  workflows.expect_completed();
  workflows.expect_completed("wide");
}

class RefusingServer : public FailingServer {};
// A value out of range, a check that is violated, a row that is too large.
INSTANTIATE_TEST_SUITE_P(States, RefusingServer, ::testing::Values("22003", "23514", "23505", "54000"),
                         [](const auto& state) { return state.param; });

TEST_P(RefusingServer, EndsTheWorkflowThatItRefusesAndNoOther) {
  fail(GetParam(), "activities", "NEW.key = (SELECT key FROM " + schema.name() + ".instances WHERE id = 'bad')");
  workflows.start("bad");
  workflows.begin();
  workflows.expect_poison("bad", "the test says no");
  workflows.expect_completed();
}

}  // namespace
}  // namespace perdure::test
