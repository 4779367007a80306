// A large backlog of messages for instances that never start: each fetch removes a part of it and delivers work.
// Include it once in a test program, and instantiate it with the stores that this has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/testing/provider_validation.h>
#include "testing/validation/moves.h"

namespace perdure::testing {

struct BacklogStore {
  const char* name;
  std::unique_ptr<ProviderFactory> (*make)();
};

inline std::string backlog_store_name(const ::testing::TestParamInfo<BacklogStore>& store) {
  return store.param.name;
}

class OrphanBacklog : public ::testing::TestWithParam<BacklogStore> {
 protected:
  static constexpr std::uint64_t kMostPerFetch = 1'024;

  void buffer(std::size_t count, const MessageRecord& message) {
    const std::vector<MessageRecord> messages(count, message);
    for (const ProviderResult<void>& sent : scene_.store().enqueue_messages(messages)) ASSERT_TRUE(sent.has_value());
  }
  // Returns how many messages are left after one more fetch, which finds no instance.
  std::uint64_t left_after_a_fetch() {
    scene_.fetch_nothing();
    return messages_in(scene_);
  }

  const std::unique_ptr<ProviderFactory> factory_ = GetParam().make();
  Scene scene_{*factory_};
};

TEST_P(OrphanBacklog, IsRemovedOverSeveralFetchesThatDeliverWork) {
  constexpr std::uint64_t kMessages = 2'500;
  buffer(kMessages, queue_message("stray"));
  scene_.advance(factory_->orphan_retention());
  scene_.enqueue_start("order");
  scene_.ack(scene_.first_commit_of(scene_.fetch()));
  EXPECT_EQ(messages_in(scene_), kMessages - kMostPerFetch);
  EXPECT_EQ(left_after_a_fetch(), kMessages - 2 * kMostPerFetch);
  EXPECT_EQ(left_after_a_fetch(), 0U);
}

TEST_P(OrphanBacklog, HasOneBoundForAllIds) {
  buffer(600, queue_message("a"));
  buffer(600, queue_message("b"));
  buffer(600, event_message("c", "x"));
  scene_.advance(factory_->orphan_retention());
  EXPECT_EQ(left_after_a_fetch(), 1'800 - kMostPerFetch);
  EXPECT_EQ(left_after_a_fetch(), 0U);
}

// The first of them decides about all, so it must not be removed before the others.
TEST_P(OrphanBacklog, OfOtherMessagesIsRemovedAsAWhole) {
  const Milliseconds retention = factory_->orphan_retention();
  buffer(1, event_message("stray", "old"));
  scene_.advance(retention - Milliseconds{1});
  buffer(1'500, event_message("stray", "young"));
  EXPECT_EQ(left_after_a_fetch(), 1'501U);
  scene_.advance(Milliseconds{1});
  EXPECT_EQ(left_after_a_fetch(), 1'501 - kMostPerFetch);
  EXPECT_EQ(left_after_a_fetch(), 0U);
}

}  // namespace perdure::testing
