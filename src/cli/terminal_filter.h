// TerminalFilter: the one way of text out of the program. It escapes what would move a terminal or mislead its reader.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace perdure::cli {

// A stream buffer in front of another stream. Controls except line ends and tabs become \u001b, bytes that are not
// UTF-8 become \xff (src/model/utf8.h decides). The first form is an escape of JSON, so JSON documents stay what they
// are.
//
// Colours come from the program, not from text: `painted` writes them as marks that hold `key`, a secret of this run.
// Every other ESC is escaped. If `key` is empty, there are no marks.
class TerminalFilter final : public std::streambuf {
 public:
  TerminalFilter(std::ostream& target, std::string key) : target_(target), mark_("\x1b" + key), marks_(!key.empty()) {}

  // Writes what is left of an incomplete character.
  void finish();

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool accept(std::string_view text);

  std::ostream& target_;
  std::string mark_;
  bool marks_;
  std::string incomplete_;  // the beginning of a character whose other bytes have not come yet
};

// A key that no text can contain but by chance.
[[nodiscard]] std::string fresh_mark_key();

// The mark for the terminal sequence ESC [ `code`; `code` ends in its only letter, one of G, K and m.
[[nodiscard]] std::string terminal_mark(std::string_view key, std::string_view code);

}  // namespace perdure::cli
