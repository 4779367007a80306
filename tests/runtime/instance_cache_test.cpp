// The cache of executions between their turns: the least recently used goes first, by number and by bytes.
#include "runtime/instance_cache.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure::test {
namespace {

using runtime::InstanceCache;
using runtime::KeptExecution;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An execution of a given size, recognisable by its last event.
class SizedExecution final : public OpenExecution {
 public:
  SizedExecution(EventId mark, std::size_t bytes) : mark_(mark), bytes_(bytes) {}
  void catch_up(std::span<const Event>) override {}
  TurnOutcome run_turn(const TurnRequest&) override { return {}; }
  EventId last_event_id() const override { return mark_; }
  const std::optional<ErrorDetails>& failure() const override { return failure_; }
  std::size_t memory_bytes() const override { return bytes_; }

 private:
  EventId mark_;
  std::size_t bytes_;
  std::optional<ErrorDetails> failure_;
};

KeptExecution execution(EventId mark, std::size_t bytes = 10) {
  KeptExecution kept;
  kept.code = std::make_unique<SizedExecution>(mark, bytes);
  return kept;
}

// The marks of what had to go.
std::vector<EventId> put(InstanceCache& cache, const std::string& instance, EventId mark, std::size_t bytes = 10) {
  std::vector<EventId> gone;
  for (const KeptExecution& each : cache.put(instance, execution(mark, bytes))) {
    gone.push_back(each.code->last_event_id());
  }
  return gone;
}

std::optional<EventId> take(InstanceCache& cache, const std::string& instance) {
  const auto kept = cache.take(instance);
  if (!kept) return std::nullopt;
  return kept->code->last_event_id();
}

constexpr std::size_t kPlenty = std::size_t{1} << 30;

TEST(InstanceCache, TakingRemoves) {
  InstanceCache cache(10, kPlenty);
  EXPECT_TRUE(cache.enabled());
  EXPECT_EQ(take(cache, "a"), std::nullopt);
  EXPECT_THAT(put(cache, "a", 1), IsEmpty());
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_GE(cache.bytes(), 10U);
  EXPECT_EQ(take(cache, "a"), 1U);
  EXPECT_EQ(take(cache, "a"), std::nullopt) << "it is not in two places";
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(InstanceCache, TheOldestGoesFirst) {
  InstanceCache cache(2, kPlenty);
  EXPECT_THAT(put(cache, "a", 1), IsEmpty());
  EXPECT_THAT(put(cache, "b", 2), IsEmpty());
  EXPECT_THAT(put(cache, "c", 3), ElementsAre(1));
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(take(cache, "a"), std::nullopt);
  EXPECT_EQ(take(cache, "b"), 2U);
  EXPECT_EQ(take(cache, "c"), 3U);
}

TEST(InstanceCache, UseIsWhatKeepsAnExecution) {
  InstanceCache cache(2, kPlenty);
  put(cache, "a", 1);
  put(cache, "b", 2);
  EXPECT_EQ(take(cache, "a"), 1U);
  EXPECT_THAT(put(cache, "a", 1), IsEmpty());  // after its turn
  EXPECT_THAT(put(cache, "c", 3), ElementsAre(2));
  EXPECT_EQ(take(cache, "a"), 1U);
}

TEST(InstanceCache, ANewerExecutionOfAnInstanceTakesThePlaceOfTheOlder) {
  InstanceCache cache(2, kPlenty);
  put(cache, "a", 1);
  EXPECT_THAT(put(cache, "a", 2), ElementsAre(1)) << "what goes is handed out: destroying it runs code of the user";
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(take(cache, "a"), 2U);
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(InstanceCache, BytesAreLimitedToo) {
  InstanceCache cache(1'000, 100'000);
  for (EventId i = 1; i <= 4; ++i) EXPECT_THAT(put(cache, std::to_string(i), i, 24'000), IsEmpty());
  EXPECT_THAT(put(cache, "5", 5, 24'000), ElementsAre(1));
  EXPECT_THAT(put(cache, "6", 6, 70'000), ElementsAre(2, 3, 4)) << "as many as it takes, the oldest first";
  EXPECT_LE(cache.bytes(), 100'000U);
  EXPECT_EQ(take(cache, "5"), 5U);
  EXPECT_EQ(take(cache, "6"), 6U);
}

TEST(InstanceCache, WhatIsLargerThanTheCacheIsNotKept) {
  InstanceCache cache(10, 1'000);
  const auto gone = put(cache, "huge", 1, 2'000);
  EXPECT_THAT(gone, ElementsAre(1));
  EXPECT_EQ(cache.size(), 0U);
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_EQ(take(cache, "huge"), std::nullopt);
}

TEST(InstanceCache, SizeZeroKeepsNothing) {
  for (const auto& [executions, bytes] : {std::pair<std::size_t, std::size_t>{0, kPlenty}, {10, 0}, {0, 0}}) {
    InstanceCache cache(executions, bytes);
    EXPECT_FALSE(cache.enabled());
    EXPECT_THAT(put(cache, "a", 1), ElementsAre(1));
    EXPECT_EQ(cache.size(), 0U);
    EXPECT_EQ(take(cache, "a"), std::nullopt);
  }
}

TEST(InstanceCache, NamesOfInstancesOutliveTheirCallers) {
  InstanceCache cache(100, kPlenty);
  for (EventId i = 1; i <= 100; ++i) put(cache, std::string(50, 'x') + std::to_string(i), i);
  for (EventId i = 100; i >= 1; --i) EXPECT_EQ(take(cache, std::string(50, 'x') + std::to_string(i)), i);
  EXPECT_EQ(cache.bytes(), 0U);
}

}  // namespace
}  // namespace perdure::test
