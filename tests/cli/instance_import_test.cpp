// Instances that an import refuses.
#include "providers/instance_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/client.h>
#include "cli/instance_copies.h"
#include "cli/instance_file.h"
#include "cli/program_run.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

TEST(InstanceImport, WhatCannotBeIsRefused) {
  const SqliteFile store;
  fill_with_samples(store.provider());
  auto& target = dynamic_cast<InstanceImport&>(*store.provider());
  const InstanceCopy good = cli::copy_tree(*store.provider(), "order-1").front();
  const auto refused = [&](void (*change)(InstanceCopy&)) {
    InstanceCopy copy = good;
    copy.info.id = "copy";
    change(copy);
    const auto imported = target.import_instances({&copy, 1});
    return !imported && imported.error().kind() == ProviderErrorKind::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.info.id.clear(); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.info.id = "not text: \xff"; }));
  for (const char* parent : {"", "not text: \xff", "two\nlines"}) {
    InstanceCopy copy = good;
    copy.info.id = "copy";
    copy.info.parent = parent;
    const auto imported = target.import_instances({&copy, 1});
    ASSERT_FALSE(imported) << parent;
    EXPECT_THAT(imported.error().message(), HasSubstr("a parent's instance id must"));
  }
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.executions.clear(); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.info.created_at = Timestamp(Milliseconds{-1}); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.info.updated_at = Timestamp::max(); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.executions.back().info.started_at = Timestamp::min(); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) {
    copy.executions.back().history.back().time = Timestamp(Milliseconds{253'402'300'800'000});  // the year 10000
  }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.executions.push_back(copy.executions.back()); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.info.status = ExecutionStatus::kFailed; }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) {
    copy.info.status = ExecutionStatus::kRunning;
    copy.executions.back().info.status = ExecutionStatus::kRunning;
  }));
  EXPECT_TRUE(refused(
      [](InstanceCopy& copy) { copy.executions.back().history.erase(copy.executions.back().history.begin()); }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.executions.back().history[1].event_id = 7; }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.key_values.push_back(copy.key_values.front()); }));
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63U;
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.custom_status.version = kTooLarge; }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) { copy.executions.back().history[1].turn = kTooLarge; }));
  EXPECT_TRUE(refused([](InstanceCopy& copy) {
    copy.info.execution_id = kTooLarge;
    copy.executions.back().info.execution_id = kTooLarge;
  }));
  EXPECT_FALSE(refused([](InstanceCopy&) {}));
  EXPECT_EQ(store.provider()->read_status("copy").value()->output, good.info.output);
}

}  // namespace
}  // namespace perdure::test
