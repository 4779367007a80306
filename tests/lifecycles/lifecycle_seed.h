// One seed of the random lifecycles: its clients, what they know, and what must hold at its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <perdure/client.h>
#include <perdure/provider.h>
#include "support/dice.h"

namespace perdure::test {

class LifecycleSeed {
 public:
  // `on_call` is called after each call of a client.
  LifecycleSeed(std::shared_ptr<Provider> store, std::uint64_t seed, std::function<void()> on_call);

  // Several clients at the same time, then the end of everything. Returns the problems.
  std::vector<std::string> run();

 private:
  // When a start was in progress, on a clock that counts the calls of this seed.
  struct Start {
    std::string instance;
    std::uint64_t began = 0;
    std::optional<std::uint64_t> ended;  // absent: it is in progress, or nothing was started
  };

  void act(Dice& dice);
  void call(const std::function<void()>& request);
  void start(Dice& dice, const std::string& id, StartPolicy policy);
  void send_letter(std::size_t number);
  void send_numbers(Dice& dice);
  void end_before_start(Dice& dice);
  void move_an_instance(Dice& dice);
  [[nodiscard]] bool use_once(const std::string& id, const std::string& expected);
  void replace_in_bulk_deletion(Dice& dice);
  void look(const std::string& id);
  void judge(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked);
  void judge_result(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked);
  void problem(const std::string& text);

  void end_all();
  [[nodiscard]] std::vector<std::string> members() const;
  [[nodiscard]] bool all_ended(bool terminate);
  void check_used_once();
  void check_outcome(const std::string& id, const std::string& expected);
  void delete_all();

  std::shared_ptr<Provider> store_;
  Client client_;
  std::uint64_t seed_;
  std::string prefix_;
  std::function<void()> on_call_;
  std::atomic<std::uint64_t> clock_ = 0;
  std::mutex mutex_;
  std::map<std::string, Start> starts_;           // by generation
  std::map<std::string, std::string> used_once_;  // ids that one client uses, and how their instances must end
  std::vector<std::string> problems_;
};

}  // namespace perdure::test
