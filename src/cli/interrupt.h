// Interrupt: turns Ctrl-C into a flag, so that a run can end and remove what it has made. A second Ctrl-C is not
// caught.
#pragma once

#include <atomic>
#include <csignal>
#include <stdexcept>

#include <signal.h>

namespace perdure::cli {

// One at a time in a process.
class Interrupt {
 public:
  Interrupt() {
    noted = false;
    struct sigaction action = {};
    action.sa_handler = [](int) { noted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &old_interrupt_);
    sigaction(SIGTERM, &action, &old_terminate_);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }

  [[nodiscard]] const std::atomic<bool>& requested() const noexcept { return noted; }
  void throw_if_requested() const {
    if (noted) throw std::runtime_error("interrupted: nothing is reported, and what the run had made is removed");
  }

 private:
  inline static std::atomic<bool> noted = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

  struct sigaction old_interrupt_ = {};
  struct sigaction old_terminate_ = {};
};

}  // namespace perdure::cli
