// Ledger: what the activities of a workload did, seen from their side; and what they have to remember. It belongs to
// one simulation, whose nodes it outlives.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <perdure/activity_context.h>
#include <perdure/types.h>

namespace perdure::testing::simulation {

struct ActivityKey {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  EventId id = 0;
  auto operator<=>(const ActivityKey&) const = default;
};

struct GivenOutcome {
  bool completed = true;
  std::string text;  // the encoded result, or the error's message
  auto operator<=>(const GivenOutcome&) const = default;
};

class Ledger {
 public:
  // `tags_all`: every activity has a tag, because no node serves those without one.
  explicit Ledger(bool tags_all = false) noexcept : tags_all_(tags_all) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger() = default;

  // An activity may run more than once, and each run may end differently.
  void completed(const ActivityContext& context, const std::string& result);
  void failed(const ActivityContext& context, const std::string& message);
  [[nodiscard]] bool tags_all() const noexcept { return tags_all_; }
  [[nodiscard]] bool ran(const ActivityKey& key) const { return outcomes_.contains(key); }
  [[nodiscard]] bool gave(const ActivityKey& key, const GivenOutcome& outcome) const;

  // How often it was counted before.
  std::uint64_t count(const std::string& token) { return counts_[token]++; }

  // ---- asynchronous activities ----

  using Completion = ActivityCompletion<std::string>;
  void keep(const std::string& token, ActivityContext context, Completion completion);
  // Ends the activities of that name, those that begin later too.
  void release(const std::string& token);
  // A process that has died forgets its activities.
  void forget_node(const std::string& worker_id);

  // ---- coroutine frames ----

  class Frame;
  [[nodiscard]] std::size_t live_frames() const noexcept { return frames_; }

 private:
  struct Kept {
    std::string token;
    ActivityContext context;
    Completion completion;
  };
  void finish(const Kept& kept);

  bool tags_all_;
  std::map<ActivityKey, std::set<GivenOutcome>> outcomes_;
  std::map<std::string, std::uint64_t> counts_;
  std::set<std::string> released_;
  std::vector<Kept> kept_;
  std::size_t frames_ = 0;
};

// Lives in a coroutine frame, so that frames can be counted.
class Ledger::Frame {
 public:
  explicit Frame(Ledger& ledger) noexcept : ledger_(&ledger) { ++ledger_->frames_; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { --ledger_->frames_; }

 private:
  Ledger* ledger_;
};

}  // namespace perdure::testing::simulation
