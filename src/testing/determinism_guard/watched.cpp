#include "testing/determinism_guard/watched.h"

#include <ctime>

// The one symbol that users' linkers are told to look for (src/CMakeLists.txt); all watched functions hang on it.
extern "C" bool perdure_determinism_guard() {
  perdure::testing::link_time_functions();
  perdure::testing::link_random_functions();
  perdure::testing::link_thread_functions();
  perdure::testing::link_socket_functions();
  perdure::testing::link_file_functions();
  perdure::testing::link_file_system_functions();
  // Who answers to the libraries of the program, and who answers to the program itself.
  return ::dlsym(RTLD_DEFAULT, "clock_gettime") == reinterpret_cast<void*>(&::clock_gettime);
}

namespace perdure::testing {

bool calls_are_watched() {
  return ::perdure_determinism_guard();
}

}  // namespace perdure::testing
