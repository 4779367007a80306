// What `perdure bench` refuses, and that it harms nothing then.
#include <csignal>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "bench/program.h"
#include "cli/bench/options.h"
#include "cli/bench/run.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

void expect_refused(const std::vector<std::string>& arguments, const std::string& words, int exit_code = cli::kUsage) {
  const Outcome outcome = run_bench(arguments);
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_THAT(outcome.err, HasSubstr(words));
  EXPECT_EQ(outcome.out, "");
}

TEST(BenchArguments, AnUnknownWorkloadIsToldWhichThereAre) {
  expect_refused({"sequence"}, "there is no workload 'sequence'; there are noop, seq, fan");
  expect_refused({}, "WORKLOAD is required");
}

TEST(BenchArguments, WhatIsOutOfRangeIsToldTheRange) {
  expect_refused({"payload", "--bytes", "16777215"}, "--bytes 16777215: must be from 0 to 16777214");
  expect_refused({"payload", "--bytes", "16000000", "--in-flight", "100"}, "more than 1 GiB");
  expect_refused({"seq", "--steps", "0"}, "--steps 0: must be from 1");
  expect_refused({"seq", "--in-flight", "0"}, "--in-flight");
  expect_refused({"seq", "--in-flight", "5000"}, "--in-flight 5000: must be from 1 to 2000");
  expect_refused({"seq", "--seconds", "0"}, "--seconds must be more than 0");
  expect_refused({"seq", "--seconds", "nan"}, "--seconds");
  expect_refused({"fan", "--width", "0"}, "--width 0");
  expect_refused({"stress", "--delay-ms", "60001"}, "--delay-ms 60001");
  expect_refused({"seq", "--sync", "off"}, "--sync");
  expect_refused({"seq", "--store", "mysql://x"}, "sqlite:PATH or postgres://");
}

TEST(BenchArguments, AFileThatIsThereIsRefusedAndLeftAsItIs) {
  const StoreFolder folder;
  const auto file = folder.path() / "store.db";
  std::ofstream(file) << "precious";
  expect_refused({"noop", "--store", folder.store(), "--seconds", "0.1"},
                 "already exists; name a file that does not exist");
  std::string text;
  std::ifstream(file) >> text;
  EXPECT_EQ(text, "precious");
}

TEST(BenchArguments, AFolderThatIsMissingIsAnErrorOfTheStore) {
  expect_refused({"noop", "--store", "sqlite:no/such/folder/store.db"}, "no/such/folder/store.db", cli::kStoreFailed);
}

TEST(BenchInterrupt, EndsTheRunAndRemovesWhatItHasMade) {
  const StoreFolder folder;
  cli::bench::Options options;
  options.workload = "seq";
  options.store = folder.store();
  options.synced = false;
  std::ostringstream out;
  std::ostringstream err;
  const cli::Context context{.out = out, .err = err};
  const cli::Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
  ASSERT_EQ(::raise(SIGINT), 0);
  EXPECT_TRUE(interrupt.requested());
  try {
    (void)run(completed(options), context, interrupt);
    FAIL() << "it ran on";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("interrupted"));
  }
  EXPECT_TRUE(folder.is_empty());
}

}  // namespace
}  // namespace perdure::test
