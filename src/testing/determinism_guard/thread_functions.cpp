// Threads and processes. std::thread, std::jthread and std::async end here as well. Not here: vfork, whose caller's
// frame cannot be left twice, and the exec functions, behind which there is no turn any more.
#include <cstdio>

#include <pthread.h>
#include <spawn.h>
#include <sys/types.h>
#include <threads.h>

#include "testing/determinism_guard/watched.h"

PERDURE_WATCH(kThread, int, pthread_create,
              (pthread_t * thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument),
              (thread, attributes, function, argument))
PERDURE_WATCH(kThread, int, thrd_create, (thrd_t * thread, thrd_start_t function, void* argument),
              (thread, function, argument))

PERDURE_WATCH(kProcess, pid_t, fork, (), ())
PERDURE_WATCH(kProcess, int, system, (const char* command), (command))
PERDURE_WATCH(kProcess, FILE*, popen, (const char* command, const char* mode), (command, mode))
PERDURE_WATCH(kProcess, int, posix_spawn,
              (pid_t * process, const char* path, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment),
              (process, path, actions, attributes, arguments, environment))
PERDURE_WATCH(kProcess, int, posix_spawnp,
              (pid_t * process, const char* file, const posix_spawn_file_actions_t* actions,
               const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment),
              (process, file, actions, attributes, arguments, environment))

namespace perdure::testing {
void link_thread_functions() noexcept {}
}  // namespace perdure::testing
