// The ledger: what the activities really did, in a file that Perdure knows nothing of. It stands for the bank and the
// warehouse: whatever is done twice is in it twice.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <perdure/types.h>

namespace order_demo {

inline perdure::Timestamp now() {
  return std::chrono::time_point_cast<perdure::Milliseconds>(std::chrono::system_clock::now());
}

struct LedgerEntry {
  perdure::Timestamp time;
  pid_t worker = 0;
  std::string step;
  std::string what;  // kBegins or kEnds
};

class Ledger {
 public:
  static constexpr const char* kBegins = "begins";
  static constexpr const char* kEnds = "ends";

  explicit Ledger(std::string path) : path_(std::move(path)) {}

  // Returns when the line is on the disk.
  void write(const std::string& step, const std::string& what) const {
    const std::string line = std::to_string(now().time_since_epoch().count()) + ' ' + std::to_string(::getpid()) + ' ' +
                             step + ' ' + what + '\n';
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail();
    const bool written = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    const bool kept = written && ::fsync(file) == 0;
    const int error = errno;
    ::close(file);
    errno = error;
    if (!kept) fail();
  }

  // Empty if nothing was ever written.
  [[nodiscard]] std::vector<LedgerEntry> read() const {
    std::vector<LedgerEntry> entries;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      LedgerEntry entry;
      perdure::Timestamp::rep time = 0;
      if (!(words >> time >> entry.worker >> entry.step >> entry.what)) {
        throw std::runtime_error("the ledger has a line that is none: '" + line + "'");
      }
      entry.time = perdure::Timestamp(perdure::Milliseconds(time));
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), "cannot write " + path_); }

  std::string path_;
};

inline std::size_t count(const std::vector<LedgerEntry>& entries, std::string_view step, std::string_view what) {
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), [&](const LedgerEntry& entry) {
    return entry.step == step && entry.what == what;
  }));
}

}  // namespace order_demo
