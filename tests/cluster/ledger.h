// The ledger: what activities did and what was done to their nodes, written by all processes of a test to one file that
// no store knows of. A line is one write to a file opened for appending, so the order of the lines is the order of what
// they tell, whoever wrote them.
#pragma once

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <perdure/types.h>

namespace perdure::test {

// One activity of one execution; the same in every run of it.
struct Step {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  EventId activity = 0;
  auto operator<=>(const Step&) const = default;
};
inline std::string to_string(const Step& step) {
  return "'" + step.instance + "', execution " + std::to_string(step.execution) + ", activity " +
         std::to_string(step.activity);
}

enum class LedgerKind : char {
  kRunBegan = 'B',
  kRunEnded = 'E',
  kRefused = 'R',  // the store refused what the node wanted to write, because it had lost the lock
  // What the test did to a node. It falls somewhere between the two lines.
  kDisturbanceBegan = 'D',
  kDisturbanceEnded = 'd',
};

inline constexpr const char* kEveryNode = "*";
// Kinds of disturbances. A node that stood still goes on with what it had in its hands.
inline constexpr const char* kDeath = "death";
inline constexpr const char* kStandstill = "standstill";
inline constexpr const char* kLostStore = "lost-store";

struct LedgerEntry {
  LedgerKind kind = LedgerKind::kRunBegan;
  std::string node;  // of a disturbance: whom it concerns, or kEveryNode
  Step step{};       // of a run
  std::uint32_t attempt = 0;
  std::string what;  // of a refusal: the call; of a disturbance: its kind
  bool operator==(const LedgerEntry&) const = default;
};

// "-" stands for an empty text, so that every line has the same number of words.
inline std::string to_line(const LedgerEntry& entry) {
  const auto word = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  return std::string(1, static_cast<char>(entry.kind)) + " " + word(entry.node) + " " + word(entry.step.instance) +
         " " + std::to_string(entry.step.execution) + " " + std::to_string(entry.step.activity) + " " +
         std::to_string(entry.attempt) + " " + word(entry.what) + "\n";
}

// Throws std::runtime_error with the line, if it is none.
inline LedgerEntry parse_ledger_line(const std::string& line) {
  LedgerEntry entry;
  std::istringstream words(line);
  std::string kind;
  std::string rest;
  words >> kind >> entry.node >> entry.step.instance >> entry.step.execution >> entry.step.activity >> entry.attempt >>
      entry.what;
  if (!words || (words >> rest) || kind.size() != 1 || std::string("BERDd").find(kind) == std::string::npos) {
    throw std::runtime_error("not a line of a ledger: '" + line + "'");
  }
  entry.kind = static_cast<LedgerKind>(kind.front());
  for (std::string* text : {&entry.node, &entry.step.instance, &entry.what}) {
    if (*text == "-") text->clear();
  }
  return entry;
}

// The file, from any thread and process.
class Ledger {
 public:
  explicit Ledger(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger() { ::close(file_); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  void append(const LedgerEntry& entry) const {
    const std::string line = to_line(entry);
    const ssize_t written = ::write(file_, line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) throw std::system_error(errno, std::generic_category(), path_);
  }

  // All lines so far.
  [[nodiscard]] std::vector<LedgerEntry> read() const {
    std::vector<LedgerEntry> entries;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) entries.push_back(parse_ledger_line(line));
    return entries;
  }
  // How many lines there are so far.
  [[nodiscard]] std::size_t size() const {
    std::ifstream file(path_);
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

 private:
  std::string path_;
  int file_;
};

}  // namespace perdure::test
