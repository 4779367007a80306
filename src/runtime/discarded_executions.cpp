#include "runtime/discarded_executions.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>

#ifdef __GLIBC__
extern "C" int malloc_trim(std::size_t pad) noexcept;  // of <malloc.h>, which is not a header of the standard library
#endif

namespace perdure::runtime {

namespace {

constexpr std::size_t kLargeExecution = std::size_t{1} << 20;
constexpr std::size_t kTrimAfter = std::size_t{4} << 20;

// Of large executions since the last trim. The allocator belongs to the process, and so does this.
std::atomic<std::size_t> discarded_bytes = 0;

void return_free_memory() {
#ifdef __GLIBC__
  static_cast<void>(::malloc_trim(0));
#endif
}

}  // namespace

void discard(std::vector<KeptExecution>& executions) {
  std::size_t large = 0;
  for (const KeptExecution& execution : executions) {
    const std::size_t bytes = execution.code ? execution.code->memory_bytes() : 0;
    if (bytes >= kLargeExecution) large += bytes;
  }
  executions.clear();
  if (large == 0 || discarded_bytes.fetch_add(large) + large < kTrimAfter) return;
  discarded_bytes = 0;
  return_free_memory();
}

}  // namespace perdure::runtime
