// Random numbers. Not here: functions whose state the caller holds (rand_r, erand48, the engines of <random>), which
// give the same numbers again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <sys/types.h>

#include "testing/determinism_guard/watched.h"

PERDURE_WATCH(kRandom, ssize_t, getrandom, (void* buffer, std::size_t size, unsigned flags), (buffer, size, flags))
PERDURE_WATCH(kRandom, int, getentropy, (void* buffer, std::size_t size), (buffer, size))
PERDURE_WATCH(kRandom, std::uint32_t, arc4random, (), ())
PERDURE_WATCH(kRandom, void, arc4random_buf, (void* buffer, std::size_t size), (buffer, size))
PERDURE_WATCH(kRandom, std::uint32_t, arc4random_uniform, (std::uint32_t bound), (bound))
PERDURE_WATCH(kRandom, int, rand, (), ())
PERDURE_WATCH(kRandom, long, random, (), ())
PERDURE_WATCH(kRandom, double, drand48, (), ())
PERDURE_WATCH(kRandom, long, lrand48, (), ())
PERDURE_WATCH(kRandom, long, mrand48, (), ())

// std::random_device asks the processor, so libstdc++'s own functions are watched. They are weak, because a program
// that is linked with -static-libstdc++ has them already; there random devices are not watched.
extern "C" {
__attribute__((weak)) unsigned perdure_random_device_value(void* device) __asm__("_ZNSt13random_device9_M_getvalEv");
__attribute__((weak)) void perdure_random_device_init(void* device, const std::string& token) __asm__(
    "_ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
}

unsigned perdure_random_device_value(void* device) {
  static constinit perdure::testing::NextFunction<unsigned(void*)> next("_ZNSt13random_device9_M_getvalEv", nullptr);
  const perdure::testing::WatchedCall call("std::random_device", perdure::testing::CallClass::kRandom,
                                           __builtin_return_address(0));
  return next.get()(device);
}

// To make a device is harmless, but it may open a file, depending on the processor.
void perdure_random_device_init(void* device, const std::string& token) {
  static constinit perdure::testing::NextFunction<void(void*, const std::string&)> next(
      "_ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", nullptr);
  const perdure::OutsideTurn outside;
  next.get()(device, token);
}

namespace perdure::testing {
void link_random_functions() noexcept {}
}  // namespace perdure::testing
