// One seed of the random lifecycles: its clients, what they know, and what must hold at its end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <perdure/client.h>
#include <perdure/provider.h>
#include "lifecycles/life_ledger.h"
#include "support/dice.h"

namespace perdure::test {

// For whole trees of instances to end, and for nodes that are killed again and again to start, on a busy machine.
inline constexpr std::chrono::seconds kLifePatience{120};

// The world of all seeds.
struct LifeWorld {
  std::shared_ptr<Provider> store;
  LifeLedger ledger;
  bool runs_once = true;          // nothing kills nodes, so that each activity runs once
  std::function<void()> on_call;  // after each call of a client
};

class LifecycleSeed {
 public:
  LifecycleSeed(LifeWorld world, std::uint64_t seed);

  // Several clients at the same time, then the end of everything. Returns the problems.
  std::vector<std::string> run();

 private:
  // When a start or another request was in progress, on a clock that counts the calls of this seed.
  struct Request {
    std::string instance;
    std::uint64_t began = 0;
    std::optional<std::uint64_t> ended;  // absent: it is in progress, or the store refused it
    bool needs_instance = true;          // without an instance it is refused
  };

  // ---- what clients do (lifecycle_seed.cpp) ----
  void act(Dice& dice);
  void act_on(const std::string& id, const std::string& other, std::size_t what, Dice& dice);
  // Whether it succeeded.
  bool call(const std::function<void()>& request);
  // The same, for calls that are repeated until something happens: on_call counts none of them.
  bool call_uncounted(const std::function<void()>& request);
  // The same for an instance that exists: kNotFound is a problem.
  void call_existing(const std::string& id, const std::function<void()>& request);
  void start(Dice& dice, const std::string& id, StartPolicy policy);
  // Calls with the number of a new request.
  void request(const std::string& id, bool needs_instance, const std::function<void(std::uint64_t)>& send);
  void cancel(const std::string& id);
  void terminate(const std::string& id);
  void delete_list(const std::vector<std::string>& ids);
  void look(const std::string& id);
  void problem(const std::string& text);

  // ---- ids that one client uses (lifecycle_scenes.cpp) ----
  void send_letter(std::size_t number);
  void send_numbers(Dice& dice);
  void send_contested_numbers(Dice& dice);
  void end_before_start(Dice& dice);
  void move_an_instance(Dice& dice);
  void replace_in_bulk_deletion(Dice& dice);
  void replace_in_bulk_pruning(Dice& dice);
  [[nodiscard]] bool use_once(const std::string& id, const std::string& expected);
  void await_end(const std::string& id);
  void check_used_once();
  void check_outcome(const std::string& id, const std::string& expected);

  // ---- what must hold at any time (lifecycle_judge.cpp) ----
  void judge(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked);
  void judge_result(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked);
  // An instance that a client has ended, with the generation that its custom status shows, if it has one.
  void judge_end(const std::string& id, const std::string& generation, const std::string& text, const char* words);
  // That the request did not return before the start of this generation, or of the root that has scheduled it.
  void judge_request(const std::string& id, const std::string& generation, std::uint64_t number,
                     const std::string& shown);
  // The client's start that it stems from; null: nothing has started it.
  [[nodiscard]] const Request* root_of(const std::string& generation) const;

  // ---- the end (lifecycle_end.cpp) ----
  void end_all();
  [[nodiscard]] std::vector<std::string> members() const;
  [[nodiscard]] bool has_queued_starts() const;
  [[nodiscard]] bool all_ended(bool terminate);
  void check_histories();
  void check_messages(const std::string& id, const std::string& generation);
  void check_effects(const std::vector<Effect>& effects);
  void delete_all();

  LifeWorld world_;
  Client client_;
  std::uint64_t seed_;
  std::string prefix_;
  std::atomic<std::uint64_t> clock_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Request> starts_;         // by generation
  std::map<std::uint64_t, Request> requests_;     // by number
  std::map<std::string, std::string> used_once_;  // ids that one client uses, and how their instances must end
  std::vector<std::string> problems_;
};

}  // namespace perdure::test
