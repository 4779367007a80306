// A system without threads: see thread_shortage_child.cpp.
#include <gtest/gtest.h>

#include "support/child_process.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

TEST(ThreadShortage, ConstructorOfRuntimeLeavesNothingBehind) {
  ChildProcess child({PERDURE_THREAD_SHORTAGE_CHILD, "runtime"});
  EXPECT_EQ(child.answer(), "done");
}

TEST(ThreadShortage, OpenOfSqliteThrowsProviderFailure) {
  const TemporaryFolder folder;
  ChildProcess child({PERDURE_THREAD_SHORTAGE_CHILD, "store", folder.file("store.db")});
  EXPECT_EQ(child.answer(), "done");
}

TEST(ThreadShortage, SlotOfStuckActivityStaysOccupied) {
  ChildProcess child({PERDURE_THREAD_SHORTAGE_CHILD, "replacement"});
  EXPECT_EQ(child.answer(), "done");
}

TEST(ThreadShortage, SlotOfEndedThreadIsFreeOnceThereIsAnother) {
  ChildProcess child({PERDURE_THREAD_SHORTAGE_CHILD, "exit"});
  EXPECT_EQ(child.answer(), "done");
}

TEST(ThreadShortage, ShutdownDoesNotWaitForEndedThread) {
  ChildProcess child({PERDURE_THREAD_SHORTAGE_CHILD, "exit-for-good"});
  EXPECT_EQ(child.answer(), "done");
}

}  // namespace
}  // namespace perdure::test
