// Interrupt: turns the signals that end a program into a flag, so that a run can end and remove what it has made. A
// second Ctrl-C is not caught.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <stdexcept>

#include <signal.h>

namespace perdure::cli {

// One at a time in a process. It must be there before anything is made and stay until everything is removed: a terminal
// that closes sends SIGHUP more than once. A signal that the program was started to ignore (nohup) stays ignored.
class Interrupt {
 public:
  Interrupt() {
    noted = false;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction action = {};
      action.sa_handler = [](int) { noted = true; };
      action.sa_flags = static_cast<int>(kSignals[i] == SIGINT ? SA_RESETHAND | SA_RESTART : SA_RESTART);
      sigaction(kSignals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
  }

  [[nodiscard]] const std::atomic<bool>& requested() const noexcept { return noted; }
  void throw_if_requested() const {
    if (noted) throw std::runtime_error("interrupted; the run was discarded and its files were removed");
  }

 private:
  // SIGPIPE comes from a report of progress to a reader that has gone.
  static constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  inline static std::atomic<bool> noted = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

  std::array<struct sigaction, kSignals.size()> old_{};
};

}  // namespace perdure::cli
