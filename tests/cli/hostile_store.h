// A store whose names, ids, payloads and errors hold what must not reach a terminal, and the check that none of it
// does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_folder.h"

namespace perdure::test {

// Moves a terminal in every way: ESC, U+009B, DEL, a direction override and isolate, BEL, CR, a byte that is not UTF-8.
inline constexpr std::string_view kHostile = "\x1b[31m\xc2\x9b\x7f\xe2\x80\xae\xe2\x81\xa6\x07\r\x9b]0;";
// The part that may stand raw in a JSON text.
inline constexpr std::string_view kHostileJson = "\xc2\x9b[1m\x7f\xe2\x80\xae\xe2\x81\xa6\xc2\x85\xe2\x80\xa8";

// What `text` holds of it, with its surroundings; empty if nothing. Line ends and tabs are allowed, and with `colours`
// the sequences that the program itself writes.
[[nodiscard]] std::string forbidden_in(std::string text, bool colours = false);

// Instances, whose ids are plain: "plain" (running, with everything that an instance can have), "completed", "failed".
// Others have hostile ids. The engine refuses such names, so they are put into the file of a store that is closed.
class HostileStore {
 public:
  HostileStore();
  [[nodiscard]] const std::string& argument() const noexcept { return argument_; }  // for --store
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  std::string argument_;
};

}  // namespace perdure::test
