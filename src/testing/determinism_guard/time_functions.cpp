// Clocks and sleeping. The clocks of std::chrono and std::this_thread::sleep_for end here as well.
#include <ctime>

#include <sys/time.h>
#include <unistd.h>

#include "testing/determinism_guard/watched.h"

PERDURE_WATCH(kClock, int, clock_gettime, (clockid_t clock, timespec* time), (clock, time))
PERDURE_WATCH(kClock, int, gettimeofday, (timeval * time, void* zone), (time, zone))
PERDURE_WATCH(kClock, time_t, time, (time_t* time), (time))
PERDURE_WATCH(kClock, clock_t, clock, (), ())
PERDURE_WATCH(kClock, int, timespec_get, (timespec * time, int base), (time, base))

PERDURE_WATCH(kSleep, int, nanosleep, (const timespec* duration, timespec* left), (duration, left))
PERDURE_WATCH(kSleep, int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left),
              (clock, flags, time, left))
PERDURE_WATCH(kSleep, int, usleep, (useconds_t duration), (duration))
PERDURE_WATCH(kSleep, unsigned, sleep, (unsigned seconds), (seconds))

namespace perdure::testing {
void link_time_functions() noexcept {}
}  // namespace perdure::testing
