#include "determinism_guard/calls.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perdure::test {

namespace {

// Something to do behind the call: the last call of a function would become a jump, which leaves no frame.
volatile long long g_used = 0;

template <class T>
void use(T value) {
  if constexpr (std::is_pointer_v<T>) {
    g_used = value ? 1 : 0;
  } else {
    g_used = static_cast<long long>(value);
  }
}

void use_and_close(int file) {
  use(file);
  if (file >= 0) ::close(file);
}

void use_and_close(FILE* file) {
  use(file);
  if (file) std::fclose(file);
}

constexpr const char* kNowhere = "no-such-folder/no-such-file";

}  // namespace

#define PERDURE_CALL __attribute__((noinline)) void

// ---- clocks

PERDURE_CALL reads_system_clock() {
  use(std::chrono::system_clock::now().time_since_epoch().count());
}

namespace {

PERDURE_CALL reads_steady_clock() {
  use(std::chrono::steady_clock::now().time_since_epoch().count());
}
PERDURE_CALL calls_time() {
  use(std::time(nullptr));
}
PERDURE_CALL calls_gettimeofday() {
  timeval now{};
  use(::gettimeofday(&now, nullptr));
}
PERDURE_CALL calls_clock() {
  use(std::clock());
}
PERDURE_CALL calls_timespec_get() {
  timespec now{};
  use(std::timespec_get(&now, TIME_UTC));
}

}  // namespace

// ---- random numbers

PERDURE_CALL draws_from_random_device() {
  std::random_device device;
  use(device());
}

namespace {

PERDURE_CALL calls_rand() {
  use(std::rand());
}
PERDURE_CALL calls_random() {
  use(::random());
}
PERDURE_CALL calls_drand48() {
  use(::drand48());
}
PERDURE_CALL calls_lrand48() {
  use(::lrand48());
}
PERDURE_CALL calls_mrand48() {
  use(::mrand48());
}
PERDURE_CALL calls_getrandom() {
  char byte = 0;
  use(::getrandom(&byte, 1, 0));
}
PERDURE_CALL calls_getentropy() {
  char byte = 0;
  use(::getentropy(&byte, 1));
}

// ---- sleeping, for no time at all

constexpr timespec kNoTime{};

PERDURE_CALL sleeps_for() {
  std::this_thread::sleep_for<long, std::nano>(std::chrono::nanoseconds(1));
  use(0);
}
PERDURE_CALL calls_nanosleep() {
  const auto pause = &::nanosleep;
  use(pause(&kNoTime, nullptr));
}
PERDURE_CALL calls_clock_nanosleep() {
  use(::clock_nanosleep(CLOCK_MONOTONIC, 0, &kNoTime, nullptr));
}
PERDURE_CALL calls_usleep() {
  const auto pause = &::usleep;
  use(pause(0));
}

// ---- threads and processes

PERDURE_CALL starts_a_thread() {
  std::thread([] {}).join();
  use(0);
}
PERDURE_CALL starts_async() {
  use(std::async(std::launch::async, [] { return 1; }).get());
}
PERDURE_CALL calls_pthread_create() {
  pthread_t thread{};
  use(::pthread_create(&thread, nullptr, [](void* argument) { return argument; }, nullptr));
  ::pthread_join(thread, nullptr);
}
PERDURE_CALL calls_fork() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  use(::waitpid(child, nullptr, 0));
}
PERDURE_CALL calls_system() {
  use(std::system(nullptr));  // asks whether there is a shell
}
PERDURE_CALL calls_popen() {
  use(::popen("", "no such mode"));
}
PERDURE_CALL calls_posix_spawn() {
  pid_t child = 0;
  char* const nothing[] = {nullptr};
  use(::posix_spawn(&child, kNowhere, nullptr, nullptr, nothing, nothing));
}
PERDURE_CALL calls_posix_spawnp() {
  pid_t child = 0;
  char* const nothing[] = {nullptr};
  use(::posix_spawnp(&child, kNowhere, nullptr, nullptr, nothing, nothing));
}

// ---- sockets

constexpr int kNoSocket = -1;

PERDURE_CALL opens_a_socket() {
  use_and_close(::socket(AF_INET, SOCK_STREAM, 0));
}
PERDURE_CALL opens_two_sockets() {
  int sockets[2] = {-1, -1};
  use(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
  use_and_close(sockets[0]);
  use_and_close(sockets[1]);
}
PERDURE_CALL connects() {
  const sockaddr_in address{};
  use(::connect(kNoSocket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}
PERDURE_CALL binds() {
  const sockaddr_in address{};
  use(::bind(kNoSocket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}
PERDURE_CALL accepts() {
  use(::accept(kNoSocket, nullptr, nullptr));
}
PERDURE_CALL accepts_with_flags() {
  use(::accept4(kNoSocket, nullptr, nullptr, SOCK_CLOEXEC));
}
PERDURE_CALL asks_for_an_address() {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  use(::getaddrinfo("127.0.0.1", nullptr, &hints, &found));
  if (found) ::freeaddrinfo(found);
}
PERDURE_CALL asks_for_a_host() {
  use(::gethostbyname("127.0.0.1"));
}

// ---- files

PERDURE_CALL opens_a_stream() {
  std::ifstream file("/dev/null");
  use(file.is_open());
}
PERDURE_CALL opens_a_file() {
  use_and_close(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}
PERDURE_CALL opens_a_file_with_a_mode() {
  use_and_close(::open("/dev/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}
PERDURE_CALL opens_a_file_in_a_folder() {
  use_and_close(::openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC));
}
PERDURE_CALL creates_a_file() {
  use_and_close(::creat("/dev/null", 0600));
}
PERDURE_CALL calls_fopen() {
  use_and_close(std::fopen("/dev/null", "r"));
}
PERDURE_CALL calls_tmpfile() {
  use_and_close(std::tmpfile());
}
PERDURE_CALL calls_mkstemp() {
  char name[] = "no-such-folder/XXXXXX";
  use_and_close(::mkstemp(name));
}
PERDURE_CALL opens_a_folder() {
  DIR* const folder = ::opendir("/");
  use(folder);
  if (folder) ::closedir(folder);
}
PERDURE_CALL walks_through_a_folder() {
  use(std::filesystem::directory_iterator("/dev/fd") == std::filesystem::directory_iterator());
}
PERDURE_CALL looks_for_a_file() {
  use(std::filesystem::exists(kNowhere));
}
PERDURE_CALL looks_for_a_link() {
  use(std::filesystem::is_symlink(kNowhere));
}
PERDURE_CALL asks_for_access() {
  use(::access(kNowhere, R_OK));
}
PERDURE_CALL reads_a_link() {
  char target[8];
  use(::readlink(kNowhere, target, sizeof(target)));
}
PERDURE_CALL resolves_a_path() {
  char* const path = ::realpath(kNowhere, nullptr);
  use(path);
  std::free(path);
}
PERDURE_CALL makes_a_folder() {
  use(::mkdir(kNowhere, 0700));
}
PERDURE_CALL removes_a_folder() {
  use(::rmdir(kNowhere));
}
PERDURE_CALL unlinks_a_file() {
  use(::unlink(kNowhere));
}
PERDURE_CALL removes_a_file() {
  use(std::remove(kNowhere));
}
PERDURE_CALL renames_a_file() {
  use(std::rename(kNowhere, kNowhere));
}
PERDURE_CALL truncates_a_file() {
  use(::truncate(kNowhere, 0));
}

}  // namespace

#undef PERDURE_CALL

std::span<const ForbiddenCall> forbidden_calls() {
#define PERDURE_ROW(place, function, call_class)    \
  ForbiddenCall {                                   \
    #place, function, CallClass::call_class, &place \
  }
  static const std::vector<ForbiddenCall> kCalls{
      PERDURE_ROW(reads_system_clock, "clock_gettime", kClock),
      PERDURE_ROW(reads_steady_clock, "clock_gettime", kClock),
      PERDURE_ROW(calls_time, "time", kClock),
      PERDURE_ROW(calls_gettimeofday, "gettimeofday", kClock),
      PERDURE_ROW(calls_clock, "clock", kClock),
      PERDURE_ROW(calls_timespec_get, "timespec_get", kClock),
      PERDURE_ROW(draws_from_random_device, "std::random_device", kRandom),
      PERDURE_ROW(calls_rand, "rand", kRandom),
      PERDURE_ROW(calls_random, "random", kRandom),
      PERDURE_ROW(calls_drand48, "drand48", kRandom),
      PERDURE_ROW(calls_lrand48, "lrand48", kRandom),
      PERDURE_ROW(calls_mrand48, "mrand48", kRandom),
      PERDURE_ROW(calls_getrandom, "getrandom", kRandom),
      PERDURE_ROW(calls_getentropy, "getentropy", kRandom),
      PERDURE_ROW(sleeps_for, "nanosleep", kSleep),
      PERDURE_ROW(calls_nanosleep, "nanosleep", kSleep),
      PERDURE_ROW(calls_clock_nanosleep, "clock_nanosleep", kSleep),
      PERDURE_ROW(calls_usleep, "usleep", kSleep),
      PERDURE_ROW(starts_a_thread, "pthread_create", kThread),
      PERDURE_ROW(starts_async, "pthread_create", kThread),
      PERDURE_ROW(calls_pthread_create, "pthread_create", kThread),
      PERDURE_ROW(calls_fork, "fork", kProcess),
      PERDURE_ROW(calls_system, "system", kProcess),
      PERDURE_ROW(calls_popen, "popen", kProcess),
      PERDURE_ROW(calls_posix_spawn, "posix_spawn", kProcess),
      PERDURE_ROW(calls_posix_spawnp, "posix_spawnp", kProcess),
      PERDURE_ROW(opens_a_socket, "socket", kSocket),
      PERDURE_ROW(opens_two_sockets, "socketpair", kSocket),
      PERDURE_ROW(connects, "connect", kSocket),
      PERDURE_ROW(binds, "bind", kSocket),
      PERDURE_ROW(accepts, "accept", kSocket),
      PERDURE_ROW(accepts_with_flags, "accept4", kSocket),
      PERDURE_ROW(asks_for_an_address, "getaddrinfo", kSocket),
      PERDURE_ROW(asks_for_a_host, "gethostbyname", kSocket),
      PERDURE_ROW(opens_a_stream, "fopen64", kFile),
      PERDURE_ROW(opens_a_file, "open", kFile),
      PERDURE_ROW(opens_a_file_with_a_mode, "open", kFile),
      PERDURE_ROW(opens_a_file_in_a_folder, "openat", kFile),
      PERDURE_ROW(creates_a_file, "creat", kFile),
      PERDURE_ROW(calls_fopen, "fopen", kFile),
      PERDURE_ROW(calls_tmpfile, "tmpfile", kFile),
      PERDURE_ROW(calls_mkstemp, "mkstemp", kFile),
      PERDURE_ROW(opens_a_folder, "opendir", kFile),
      PERDURE_ROW(walks_through_a_folder, "openat", kFile),
      PERDURE_ROW(looks_for_a_file, "stat", kFile),
      PERDURE_ROW(looks_for_a_link, "lstat", kFile),
      PERDURE_ROW(asks_for_access, "access", kFile),
      PERDURE_ROW(reads_a_link, "readlink", kFile),
      PERDURE_ROW(resolves_a_path, "realpath", kFile),
      PERDURE_ROW(makes_a_folder, "mkdir", kFile),
      PERDURE_ROW(removes_a_folder, "rmdir", kFile),
      PERDURE_ROW(unlinks_a_file, "unlink", kFile),
      PERDURE_ROW(removes_a_file, "remove", kFile),
      PERDURE_ROW(renames_a_file, "rename", kFile),
      PERDURE_ROW(truncates_a_file, "truncate", kFile),
  };
#undef PERDURE_ROW
  return kCalls;
}

}  // namespace perdure::test
