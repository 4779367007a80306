// Handover: news that one dispatcher has left and the other has not taken yet, when each is used under a lock of its
// own.
//
// A sender holds its own dispatcher's mutex and a receiver its own; no thread holds both. This preserves the order of
// updates and rules out deadlock.
#pragma once

#include <mutex>
#include <utility>

#include "runtime/local_work.h"

namespace perdure::runtime {

class Handover {
 public:
  void leave(NewsForWorker news) {
    const std::scoped_lock lock(mutex_);
    append(for_worker_, std::move(news));
  }
  void leave(NewsForTurns news) {
    const std::scoped_lock lock(mutex_);
    append(for_turns_, std::move(news));
  }
  [[nodiscard]] NewsForWorker take_for_worker() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(for_worker_, {});
  }
  [[nodiscard]] NewsForTurns take_for_turns() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(for_turns_, {});
  }

 private:
  std::mutex mutex_;
  NewsForWorker for_worker_;
  NewsForTurns for_turns_;
};

}  // namespace perdure::runtime
