// The ledger: what activities did and what was done to their nodes, written by all processes of a cluster to one file
// that no store knows of. A line is one write to a file opened for appending, so the order of the lines is the order of
// what they tell, whoever wrote them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <perdure/types.h>

namespace perdure::testing::cluster {

// One activity of one execution; the same in every run of it.
struct Step {
  std::string instance;
  ExecutionId execution = kFirstExecutionId;
  EventId activity = 0;
  auto operator<=>(const Step&) const = default;
};
[[nodiscard]] std::string to_string(const Step& step);

enum class LedgerKind : char {
  kRunBegan = 'B',
  kRunEnded = 'E',
  kRefused = 'R',  // the store refused what the node wanted to write, because it had lost the lock
  // What was done to a node. It falls somewhere between the two lines.
  kDisturbanceBegan = 'D',
  kDisturbanceEnded = 'd',
};

inline constexpr const char* kEveryNode = "*";
// Kinds of disturbances. A node that stood still goes on with what it had in its hands.
inline constexpr const char* kDeath = "death";
inline constexpr const char* kStandstill = "standstill";
inline constexpr const char* kLostStore = "lost-store";
inline constexpr const char* kFullVolume = "full-volume";  // the store refuses what it cannot write, renewals too
inline constexpr const char* kClockStep = "clock-step";    // locks may expire early

struct LedgerEntry {
  LedgerKind kind = LedgerKind::kRunBegan;
  std::string node;  // of a disturbance: whom it concerns, or kEveryNode
  Step step{};       // of a run
  std::uint32_t attempt = 0;
  std::string what;  // of a refusal: the call; of a disturbance: its kind
  bool operator==(const LedgerEntry&) const = default;
};

// All lines are of this length: no write crosses a page of the file, so a process that is killed while it writes leaves
// a whole line or none.
inline constexpr std::size_t kLedgerLineBytes = 128;

// "-" stands for an empty text, so that every line has the same number of words. Throws std::length_error if it is too
// long.
[[nodiscard]] std::string to_line(const LedgerEntry& entry);

// Throws std::runtime_error with the line, if it is none.
[[nodiscard]] LedgerEntry parse_ledger_line(const std::string& line);

// The file, from any thread and process.
class Ledger {
 public:
  // Throws std::system_error, as append does.
  explicit Ledger(const std::string& path);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  void append(const LedgerEntry& entry) const;
  // All lines so far but the first ones.
  [[nodiscard]] std::vector<LedgerEntry> read(std::size_t first = 0) const;
  // How many lines there are so far.
  [[nodiscard]] std::size_t size() const;

 private:
  std::string path_;
  int file_;
};

}  // namespace perdure::testing::cluster
