// What the interpreter of random programs keeps in the frame of its orchestration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/perdure.h>
#include "support/random_program.h"

namespace perdure::test {

// What the test has to know about a future; it lives as long as the future.
class Note {
 public:
  Note(Observations& seen, const Source& source, EventId schedule_id);
  Note(Note&& other) noexcept
      : seen_(std::exchange(other.seen_, nullptr)),
        source_(other.source_),
        id_(other.id_),
        first_in_line_(other.first_in_line_),
        obtained_(other.obtained_),
        lost_(std::move(other.lost_)) {}
  Note& operator=(Note&& other) noexcept;
  ~Note() { let_go(); }

  // The code has obtained the value: counted once, however often it looks.
  void obtained(const std::string& value);
  // It was done when the last selection was made, but lost; what it holds is known when somebody obtains it.
  void lost() {
    if (!obtained_) lost_.push_back(seen_->selections.size() - 1);
  }
  // The future was detached: it exists as long as the instance.
  void detached() noexcept { seen_ = nullptr; }
  [[nodiscard]] const Source& source() const noexcept { return source_; }
  // The event whose outcomes name it as their source; 0 where there is no such thing.
  [[nodiscard]] EventId source_id() const noexcept;

 private:
  void let_go() noexcept;

  Observations* seen_;
  Source source_;
  EventId id_;
  bool first_in_line_ = false;
  bool obtained_ = false;
  std::vector<std::size_t> lost_;  // selections
};

class Operation {
 public:
  Operation(Future<std::string> started, Note its_note) : future(std::move(started)), note(std::move(its_note)) {}
  Future<std::string> future;
  Note note;
};

// Futures and their notes side by side, because combinators take vectors of futures.
class Operations {
 public:
  void add(Operation operation);
  [[nodiscard]] std::size_t size() const noexcept { return futures.size(); }
  [[nodiscard]] bool empty() const noexcept { return futures.empty(); }
  [[nodiscard]] std::vector<EventId> source_ids() const;
  void drop(std::size_t index);
  void detach(std::size_t index);

  std::vector<Future<std::string>> futures;
  std::vector<Note> notes;
};

class Code {
 public:
  Code(OrchestrationContext context, Observations& observations) : ctx_(context), seen_(&observations) {}

  // Folds a value into everything that comes later.
  void see(std::string_view value);
  void see(std::uint64_t number) { see(std::to_string(number)); }
  void see_result(const Result<std::string>& result);
  // Of an operation, too: it counts as read.
  void see(Note& note, const std::string& value);
  void see(Note& note, const Result<std::string>& result);
  // From here on nothing of this execution may run.
  void ends() noexcept { ended_ = true; }
  void joined(const Operations& parts);
  void selected(std::vector<EventId> parts, std::size_t winner, const std::string& value);

  [[nodiscard]] bool coin() const noexcept { return (hash_ & 1U) != 0; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Observations& seen() const noexcept { return *seen_; }

  [[nodiscard]] Operation start(const Source& source);
  [[nodiscard]] Operations start(const std::vector<Source>& sources);
  // Steps that await nothing. False: it is no such step.
  bool call(const Step& step);

 private:
  bool call_for_keys(const Step& step);
  bool call_for_values(const Step& step);

  OrchestrationContext ctx_;
  Observations* seen_;
  bool ended_ = false;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace perdure::test
