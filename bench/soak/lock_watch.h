// LockWatch: a provider that sees every lock that is given out, and complains when something is locked that somebody
// else still holds.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <perdure/testing/forwarding_provider.h>

namespace perdure::soak {

class LockWatch final : public testing::ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  // Locks that were given out twice, a sentence each.
  [[nodiscard]] std::vector<std::string> violations() const;
  [[nodiscard]] std::size_t locks() const;

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override;
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override;
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_orchestration_locks(std::span<const LockToken> tokens,
                                                                   Milliseconds extend_for) override;

  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override;
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override;
  std::vector<ProviderResult<void>> abandon_work_items(std::span<const Abandon> abandons) override;
  std::vector<ProviderResult<Timestamp>> renew_work_locks(std::span<const LockToken> tokens,
                                                          Milliseconds extend_for) override;
  std::vector<ProviderResult<Timestamp>> heartbeat(std::span<const Heartbeat> heartbeats) override;

 private:
  struct Held {
    std::string token;
    Timestamp until;
    bool released = false;  // by a call that may be under way
  };

  void lock(const std::string& subject, const LockToken& token, Timestamp until, Timestamp now);
  void extend(const LockToken& token, const ProviderResult<Timestamp>& until);
  void forget_expired(Timestamp now);

  // Told before the store is: from then on somebody else may lock it. One that the store refused is held again.
  template <class Element, class Call>
  auto release(std::span<const Element> elements, Call call) {
    for (const Element& element : elements) set_released(element.token, true);
    auto answers = call(elements);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (answers[i]) {
        forget(elements[i].token);
      } else if (answers[i].error().kind() != ProviderErrorKind::kLockLost) {
        set_released(elements[i].token, false);
      }
    }
    return answers;
  }
  void set_released(const LockToken& token, bool released);
  void forget(const LockToken& token);

  mutable std::mutex mutex_;
  std::map<std::string, Held> held_;                       // by what is locked
  std::unordered_map<std::string, std::string> subjects_;  // by token
  std::vector<std::string> violations_;
  std::size_t locks_ = 0;
};

}  // namespace perdure::soak
