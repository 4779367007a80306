// start, wait, raise, enqueue, cancel and terminate.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "cli/exit_code.h"
#include "cli/input_run.h"
#include "cli/program_run.h"
#include "support/eventually.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Answers with the bytes of its input.
Orchestration<Raw> echo(OrchestrationContext, Raw input) {
  co_return input;
}

Orchestration<std::string> inbox(OrchestrationContext ctx) {
  ctx.set_custom_status("open");
  co_return co_await ctx.dequeue_event<std::string>("mail");
}

Registry registry_with_echo() {
  Registry registry = sample_registry();
  registry.add_orchestration("Echo", echo).add_orchestration("Inbox", inbox);
  return registry;
}

std::string input_of(const SqliteFile& store, const std::string& instance) {
  const Client client(store.provider());
  const Runtime runtime(store.provider(), registry_with_echo());
  return client.wait_for_orchestration(instance, kPatience).output.value_or("absent");
}

TEST(StartCommand, TellsWhatItDid) {
  const SqliteFile store;
  const ProgramRun first = store.run({"start", "a", "Echo"});
  EXPECT_EQ(first.exit_code, cli::kSuccess) << first.err;
  EXPECT_EQ(first.out, "started a (Echo)\n");
  const ProgramRun again = store.run({"start", "a", "Echo"});
  EXPECT_EQ(again.exit_code, cli::kSuccess);
  EXPECT_EQ(again.out, "a already exists; nothing was started\n");
  const ProgramRun json = store.run({"start", "b", "Echo", "--json"});
  EXPECT_EQ(json.json(), (nlohmann::json{{"instance", "b"}, {"name", "Echo"}, {"outcome", "started"}}));
  EXPECT_EQ(store.run({"start", "b", "Echo", "--json"}).json().at("outcome"), "ignored");
}

TEST(StartCommand, OneThatExistsMayBeAnErrorOrBeReplaced) {
  const SqliteFile store;
  fill_with_samples(store.provider());
  const ProgramRun refused = store.run({"start", "order-1", "Order", "--if-exists", "fail"});
  EXPECT_EQ(refused.exit_code, cli::kConflict);
  EXPECT_THAT(refused.err, HasSubstr("'order-1' already exists"));
  EXPECT_EQ(store.run({"start", "order-1", "Order", "--if-exists", "replace"}).out, "replaced order-1 (Order)\n");
  EXPECT_EQ(store.run({"start", "waiting", "Order", "--if-exists", "replace"}).exit_code, cli::kConflict);
  EXPECT_EQ(store.run({"start", "x", "Order", "--if-exists", "perhaps"}).exit_code, cli::kUsage);
}

TEST(StartCommand, MakesAStoreOnlyIfAsked) {
  const TemporaryFolder folder;
  const std::string path = folder.file("new.db");
  const ProgramRun refused = run_perdure({"start", "a", "Echo", "--store", "sqlite:" + path});
  EXPECT_EQ(refused.exit_code, cli::kStoreFailed);
  EXPECT_THAT(refused.err, HasSubstr("--create"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(run_perdure({"start", "a", "Echo", "--create", "--store", "sqlite:" + path}).exit_code, cli::kSuccess);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(StartCommand, InputPassesThroughAsItWasWritten) {
  const SqliteFile store;
  const TemporaryFolder folder;
  std::ofstream(folder.file("input.json")) << "  [1,   2]\n";
  std::ofstream(folder.file("bytes"), std::ios::binary) << "\xff\n";
  EXPECT_EQ(store.run({"start", "none", "Echo"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"start", "text", "Echo", "--input", "{\"b\":1,  \"a\": 2}"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"start", "negative", "Echo", "--input", "-5"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"start", "file", "Echo", "--input", "@" + folder.file("input.json")}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"start", "bytes", "Echo", "--raw", "--input", "@" + folder.file("bytes")}).exit_code,
            cli::kSuccess);
  EXPECT_EQ(
      run_with_input({"start", "piped", "Echo", "--input", "-", "--store", store.argument()}, "\"x\"\n").exit_code,
      cli::kSuccess);
  EXPECT_EQ(input_of(store, "none"), "absent");
  EXPECT_EQ(input_of(store, "text"), "{\"b\":1,  \"a\": 2}");
  EXPECT_EQ(input_of(store, "negative"), "-5");
  EXPECT_EQ(input_of(store, "file"), "[1,   2]");
  EXPECT_EQ(input_of(store, "bytes"), "\xff\n");
  EXPECT_EQ(input_of(store, "piped"), "\"x\"");
}

TEST(StartCommand, InputThatIsNoJsonIsRefused) {
  const SqliteFile store;
  const ProgramRun text = store.run({"start", "a", "Echo", "--input", "hello"});
  EXPECT_EQ(text.exit_code, cli::kUsage);
  EXPECT_THAT(text.err, HasSubstr("--input is not JSON; quote a string"));
  EXPECT_EQ(store.run({"start", "a", "Echo", "--input", ""}).exit_code, cli::kUsage);
  EXPECT_THAT(store.run({"start", "a", "Echo", "--input", "@/there/is/none"}).err,
              HasSubstr("cannot read the file '/there/is/none'"));
  EXPECT_THAT(store.run({"start", "a", "Echo", "--input", "-"}).err, HasSubstr("standard input is not available"));
  EXPECT_THAT(store.run({"start", "a", "Echo", "--raw"}).err, HasSubstr("--raw requires --input"));
  EXPECT_EQ(store.run({"start", "a", "Echo", "--version", "1.x"}).exit_code, cli::kUsage);
  EXPECT_EQ(store.run({"start", "", "Echo"}).exit_code, cli::kUsage) << "an empty id";
  EXPECT_EQ(store.run({"start", "a"}).exit_code, cli::kUsage) << "no orchestration";
  EXPECT_EQ(store.provider()->read_status("a").value(), std::nullopt) << "nothing was started";
}

TEST(StartCommand, MayWaitForTheEnd) {
  const SqliteFile store;
  const Runtime runtime(store.provider(), registry_with_echo());
  const ProgramRun completed = store.run({"start", "a", "Echo", "--input", "7", "--wait"});
  EXPECT_EQ(completed.exit_code, cli::kSuccess) << completed.err;
  EXPECT_EQ(completed.out, "started a (Echo)\na: Completed 7\n");
  const ProgramRun failed = store.run({"start", "b", "Order", "--input", "-1", "--wait", "--json"});
  EXPECT_EQ(failed.exit_code, cli::kNegative);
  EXPECT_EQ(failed.json().at("status"), "Failed");
  EXPECT_EQ(failed.json().at("outcome"), "started");
  EXPECT_THAT(failed.json().at("error").dump(), HasSubstr("card declined"));
}

ProgramRun run_on_samples(std::vector<std::string> arguments) {
  return sample_store().run(std::move(arguments));
}

TEST(WaitCommand, TheExitStatusSaysHowItEnded) {
  const ProgramRun completed = run_on_samples({"wait", "order-1"});
  EXPECT_EQ(completed.exit_code, cli::kSuccess);
  EXPECT_EQ(completed.out, "order-1: Completed \"receipt for 4200\"\n");
  const ProgramRun failed = run_on_samples({"wait", "order-2"});
  EXPECT_EQ(failed.exit_code, cli::kNegative);
  EXPECT_THAT(failed.out, HasSubstr("order-2: Failed: "));
  EXPECT_THAT(failed.out, HasSubstr("card declined"));
  EXPECT_EQ(run_on_samples({"wait", "cancelled"}).exit_code, cli::kNegative);
  EXPECT_EQ(run_on_samples({"wait", "terminated"}).exit_code, cli::kNegative);
}

TEST(WaitCommand, TheOutcomeAsJson) {
  const nlohmann::json document = run_on_samples({"wait", "order-1", "--json"}).json();
  EXPECT_EQ(document.at("instance"), "order-1");
  EXPECT_EQ(document.at("status"), "Completed");
  EXPECT_EQ(document.at("name"), "Order");
  EXPECT_EQ(document.at("output"), "receipt for 4200");
  EXPECT_EQ(document.at("error"), nullptr);
  EXPECT_EQ(document.at("custom_status"), "charged");
  const ProgramRun failed = run_on_samples({"wait", "cancelled", "--json"});
  EXPECT_EQ(failed.exit_code, cli::kNegative);
  EXPECT_THAT(failed.json().at("error").dump(), HasSubstr("not needed any more"));
}

TEST(WaitCommand, WhatDoesNotComeInTimeIsSaidWithTheReason) {
  const ProgramRun running = run_on_samples({"wait", "waiting", "--timeout", "1ms"});
  EXPECT_EQ(running.exit_code, cli::kTimedOut);
  EXPECT_THAT(running.out, IsEmpty());
  EXPECT_THAT(running.err, HasSubstr("'waiting' did not end within 1 ms"));
  const ProgramRun pending = run_on_samples({"wait", "foreign", "--timeout", "1ms"});
  EXPECT_EQ(pending.exit_code, cli::kTimedOut);
  EXPECT_THAT(pending.err, HasSubstr("instance 'foreign' was not run by any node"));
  const ProgramRun missing = run_on_samples({"wait", "nobody", "--timeout", "1ms", "--json"});
  EXPECT_EQ(missing.exit_code, cli::kTimedOut);
  EXPECT_THAT(missing.err, HasSubstr("instance 'nobody' was not started"));
  EXPECT_EQ(nlohmann::json::parse(missing.err).at("exit_code"), cli::kTimedOut);
  EXPECT_EQ(run_on_samples({"wait", "waiting", "--timeout", "soon"}).exit_code, cli::kUsage);
}

TEST(WaitCommand, ForAValue) {
  EXPECT_EQ(run_on_samples({"wait", "order-1", "--kv", "total"}).out, "4200\n");
  const nlohmann::json expected{{"instance", "order-1"}, {"key", "stage"}, {"value", "done"}};
  EXPECT_EQ(run_on_samples({"wait", "order-1", "--kv", "stage", "--json"}).json(), expected);
  const ProgramRun ended = run_on_samples({"wait", "order-1", "--kv", "nothing"});
  EXPECT_EQ(ended.exit_code, cli::kNegative) << "it waits no longer than the instance lives";
  EXPECT_THAT(ended.err, HasSubstr("has ended without a value for 'nothing'"));
  EXPECT_EQ(run_on_samples({"wait", "waiting", "--kv", "x", "--timeout", "1ms"}).exit_code, cli::kTimedOut);
  EXPECT_EQ(run_on_samples({"wait", "waiting", "--kv", "x", "--status-change", "1"}).exit_code, cli::kUsage);
}

TEST(WaitCommand, ForACustomStatus) {
  const ProgramRun changed = run_on_samples({"wait", "waiting", "--status-change", "0"});
  EXPECT_EQ(changed.exit_code, cli::kSuccess);
  EXPECT_EQ(changed.out, "waiting: Running, waiting for approval\n");
  EXPECT_EQ(run_on_samples({"wait", "waiting", "--status-change", "1", "--timeout", "1ms"}).exit_code, cli::kTimedOut);
  EXPECT_EQ(run_on_samples({"wait", "order-2", "--status-change", "99"}).exit_code, cli::kNegative) << "it has ended";
  EXPECT_EQ(run_on_samples({"wait", "order-1", "--status-change", "99"}).exit_code, cli::kSuccess);
}

TEST(MessageCommands, ReachTheirInstances) {
  const SqliteFile store;
  const Client client(store.provider());
  const Runtime runtime(store.provider(), registry_with_echo());
  for (const char* instance : {"raised", "cancelled", "terminated"}) client.start_orchestration(instance, "Approval");
  client.start_orchestration("box", "Inbox");
  for (const char* instance : {"raised", "cancelled", "terminated", "box"}) {
    (void)client.wait_for_status_change(instance, 0, kPatience);
  }
  EXPECT_EQ(store.run({"raise", "raised", "approved", "--data", "\"yes\""}).out, "raised 'approved' for raised\n");
  EXPECT_EQ(store.run({"enqueue", "box", "mail", "--data", "\"hello\"", "--json"}).json(),
            (nlohmann::json{{"instance", "box"}, {"queue", "mail"}}));
  const ProgramRun cancelled = store.run({"cancel", "cancelled", "--reason", "too late", "--json"});
  EXPECT_EQ(cancelled.json(),
            (nlohmann::json{{"instance", "cancelled"}, {"requested", "cancel"}, {"reason", "too late"}}));
  EXPECT_THAT(store.run({"terminate", "terminated"}).out, HasSubstr("sent the request to terminate terminated"));
  EXPECT_EQ(client.wait_for_orchestration("raised", kPatience).output, "\"approved\"");
  EXPECT_EQ(client.wait_for_orchestration("box", kPatience).output, "\"hello\"");
  const OrchestrationStatus ended = client.wait_for_orchestration("cancelled", kPatience);
  EXPECT_EQ(ended.state, OrchestrationState::kCancelled);
  EXPECT_THAT(ended.error_text(), HasSubstr("too late"));
  EXPECT_EQ(client.wait_for_orchestration("terminated", kPatience).state, OrchestrationState::kTerminated);
}

TEST(MessageCommands, AnInstanceThatIsNotThereIsAnErrorUnlessItMayBeMissing) {
  const SqliteFile store;
  const std::vector<std::vector<std::string>> commands{
      {"raise", "nobody", "event"}, {"enqueue", "nobody", "queue"}, {"cancel", "nobody"}, {"terminate", "nobody"}};
  for (const auto& command : commands) {
    const ProgramRun refused = store.run(command);
    EXPECT_EQ(refused.exit_code, cli::kNotFound) << command.front();
    EXPECT_THAT(refused.err, HasSubstr("there is no instance 'nobody'"));
  }
  EXPECT_EQ(store.provider()->admin()->queue_depths().value().messages, 0U) << "nothing was sent";
  EXPECT_EQ(store.run({"raise", "nobody", "event", "--even-if-missing"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"cancel", "nobody", "--even-if-missing"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"terminate", "nobody", "--even-if-missing"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.run({"enqueue", "nobody", "queue", "--even-if-missing"}).exit_code, cli::kSuccess);
  EXPECT_EQ(store.provider()->admin()->queue_depths().value().messages, 4U);
}

TEST(MessageCommands, NobodyGetsAMessageWhenHeHasEnded) {
  const std::vector<std::vector<std::string>> commands{
      {"raise", "order-1", "event"}, {"enqueue", "order-1", "queue"}, {"cancel", "order-1"}, {"terminate", "order-1"}};
  for (const auto& command : commands) {
    const ProgramRun refused = run_on_samples(command);
    EXPECT_EQ(refused.exit_code, cli::kConflict) << command.front();
    EXPECT_THAT(refused.err, HasSubstr("'order-1' has already ended (Completed)"));
  }
  EXPECT_EQ(run_on_samples({"raise", "waiting", "event", "--data", "{"}).exit_code, cli::kUsage);
}

}  // namespace
}  // namespace perdure::test
