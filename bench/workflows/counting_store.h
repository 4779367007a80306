// CountingStore: how many calls of a run change the store, and how many bytes its turns commit. Each such call is a
// transaction of its own when one workflow is in flight, and part of one when there are more.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include <perdure/testing/forwarding_provider.h>

namespace bench {

class CountingStore final : public perdure::testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  [[nodiscard]] std::size_t writes() const { return writes_; }
  [[nodiscard]] std::size_t commits() const { return commits_; }
  // Of an average commit: bodies of events, activities and messages.
  [[nodiscard]] std::size_t bytes_a_commit() const { return commits_ == 0 ? 0 : bytes_ / commits_; }

  perdure::ProviderResult<perdure::OrchestrationBatch> fetch_orchestration_items(
      const perdure::OrchestrationFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_orchestration_items(fetch);
    if (batch && !batch->items.empty()) ++writes_;
    return batch;
  }
  std::vector<perdure::ProviderResult<perdure::CommitAnswer>> ack_orchestration_items(
      std::span<const perdure::TurnCommit> turns) override {
    ++writes_;
    commits_ += turns.size();
    for (const perdure::TurnCommit& turn : turns) {
      for (const auto& event : turn.events) bytes_ += event.body.size();
      for (const auto& activity : turn.activities) bytes_ += activity.body.size();
      for (const auto& message : turn.messages) bytes_ += message.body.size();
    }
    return ForwardingProvider::ack_orchestration_items(turns);
  }
  std::vector<perdure::ProviderResult<void>> abandon_orchestration_items(
      std::span<const perdure::Abandon> abandons) override {
    ++writes_;
    return ForwardingProvider::abandon_orchestration_items(abandons);
  }
  std::vector<perdure::ProviderResult<perdure::Timestamp>> renew_orchestration_locks(
      std::span<const perdure::LockToken> tokens, perdure::Milliseconds extend_for) override {
    ++writes_;
    return ForwardingProvider::renew_orchestration_locks(tokens, extend_for);
  }
  perdure::ProviderResult<perdure::StartOutcome> enqueue_start(const perdure::MessageRecord& start,
                                                               perdure::StartPolicy policy) override {
    ++writes_;
    return ForwardingProvider::enqueue_start(start, policy);
  }
  perdure::ProviderResult<perdure::WorkBatch> fetch_work_items(const perdure::WorkFetch& fetch) override {
    auto batch = ForwardingProvider::fetch_work_items(fetch);
    if (batch && !batch->items.empty()) ++writes_;
    return batch;
  }
  std::vector<perdure::ProviderResult<void>> ack_work_items(std::span<const perdure::WorkAck> acks) override {
    ++writes_;
    return ForwardingProvider::ack_work_items(acks);
  }
  std::vector<perdure::ProviderResult<void>> abandon_work_items(std::span<const perdure::Abandon> abandons) override {
    ++writes_;
    return ForwardingProvider::abandon_work_items(abandons);
  }
  std::vector<perdure::ProviderResult<perdure::Timestamp>> renew_work_locks(std::span<const perdure::LockToken> tokens,
                                                                            perdure::Milliseconds extend_for) override {
    ++writes_;
    return ForwardingProvider::renew_work_locks(tokens, extend_for);
  }

 private:
  std::atomic<std::size_t> writes_{0};
  std::atomic<std::size_t> commits_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace bench
