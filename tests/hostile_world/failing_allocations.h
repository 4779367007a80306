// One chosen allocation of a program fails, and the next succeeds. Exactly one source of a program includes this: it
// replaces the global operator new.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/sanitized.h"

namespace perdure::test {

// Counts down to the allocation that fails; negative: none does.
inline std::atomic<long> g_left = -1;
// Whether the allocations of this thread count, or those of all threads.
inline thread_local bool t_counts = false;
inline std::atomic<bool> g_all_count = false;

// The allocations of this thread count for a scope.
class Counted {
 public:
  Counted() : before_(t_counts) { t_counts = true; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { t_counts = before_; }

 private:
  bool before_;
};

}  // namespace perdure::test

#if !PERDURE_TEST_SANITIZED
void* operator new(std::size_t size) {
  using namespace perdure::test;
  if ((t_counts || g_all_count) && g_left >= 0 && g_left-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
#endif
