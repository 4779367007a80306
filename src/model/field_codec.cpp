// Writing and strict reading of the text format.
#include "model/field_codec.h"

#include <charconv>

#include "model/decode_error.h"
#include "model/utf8.h"

namespace perdure::detail {

namespace {

constexpr std::uint32_t kFormatVersion = 1;
// The header line and a few short fields; more would be wasted on most bodies.
constexpr std::size_t kFirstCapacity = 128;
// When a long value makes the body grow, room for the short fields that follow it.
constexpr std::size_t kSpareCapacity = 128;
constexpr std::size_t kShownOfField = 40;

// A number or version on its way into a body, without an allocation.
struct ShortText {
  std::array<char, 48> bytes;
  std::size_t size = 0;

  ShortText& append(char c) {
    bytes[size++] = c;
    return *this;
  }
  ShortText& append(std::integral auto number) {
    const auto end = std::to_chars(bytes.data() + size, bytes.data() + bytes.size(), number).ptr;
    size = static_cast<std::size_t>(end - bytes.data());
    return *this;
  }
  ShortText& append(const SemanticVersion& version) {
    return append(version.major).append('.').append(version.minor).append('.').append(version.patch);
  }
  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};

std::string quoted(std::string_view text) {
  return '\'' + printable(text, kShownOfField) + '\'';
}

}  // namespace

FieldWriter::FieldWriter(const SemanticVersion& engine) {
  bytes_.reserve(kFirstCapacity);
  bytes_ += ShortText().append(kFormatVersion).append(' ').append(engine).append('\n').view();
}

void FieldWriter::write(std::string_view key, std::string_view value) {
  ShortText length;
  length.append(':').append(value.size()).append(':');
  const std::size_t needed = bytes_.size() + key.size() + length.size + value.size() + 1;
  if (needed > bytes_.capacity()) bytes_.reserve(needed + kSpareCapacity);
  bytes_ += key;
  bytes_ += length.view();
  bytes_ += value;
  bytes_ += '\n';
}

void FieldWriter::write_signed(std::string_view key, std::int64_t value) {
  write(key, ShortText().append(value).view());
}

void FieldWriter::write_unsigned(std::string_view key, std::uint64_t value) {
  write(key, ShortText().append(value).view());
}

void FieldWriter::write_version(std::string_view key, const SemanticVersion& value) {
  write(key, ShortText().append(value).view());
}

SemanticVersion FieldReader::header() {
  const std::size_t end = body_.find('\n');
  if (end == std::string_view::npos) throw DecodeError("the header line is missing");
  const std::string_view line = body_.substr(0, end);
  const std::size_t space = line.find(' ');
  const auto format = parse_canonical<std::uint32_t>(line.substr(0, space));
  if (space == std::string_view::npos || !format || *format == 0) {
    throw DecodeError("the header line " + quoted(line) + " is not a format and an engine version like '1 0.1.0'");
  }
  const std::string_view writer = line.substr(space + 1);
  if (*format > kFormatVersion) {
    throw DecodeError("format version " + std::to_string(*format) + ", written by engine " +
                      printable(writer, kShownOfField) + " (this engine is " + engine_version().to_string() +
                      " and reads up to format version " + std::to_string(kFormatVersion) +
                      "); use a newer engine to read it");
  }
  const auto engine = SemanticVersion::parse(writer);
  if (!engine) throw DecodeError("the engine version " + quoted(writer) + " in the header line is not like '0.1.0'");
  position_ = end + 1;
  return *engine;
}

void FieldReader::finish() const {
  if (position_ == body_.size()) return;
  const std::string_view key = rest().substr(0, rest().find(':'));
  throw DecodeError("unexpected field " + quoted(key) + " at byte " + std::to_string(position_) +
                    ": unknown, repeated or out of order");
}

std::string_view FieldReader::take(std::string_view key) {
  if (!next_is(key)) fail_missing(key);
  position_ += key.size() + 1;
  const std::size_t length = take_length(key);
  const std::string_view left = rest();
  if (length >= left.size()) {
    fail_field(key, "its length " + std::to_string(length) + " and a newline do not fit into the remaining " +
                        std::to_string(left.size()) + " bytes");
  }
  if (left[length] != '\n') fail_field(key, "no newline after its " + std::to_string(length) + " bytes");
  position_ += length + 1;
  return left.substr(0, length);
}

std::size_t FieldReader::take_length(std::string_view key) {
  const std::string_view left = rest();
  std::size_t digits = 0;
  while (digits < left.size() && left[digits] >= '0' && left[digits] <= '9') ++digits;
  const auto length = parse_canonical<std::size_t>(left.substr(0, digits));
  if (!length || digits == left.size() || left[digits] != ':') {
    fail_field(key, "its length " + quoted(left.substr(0, left.find_first_of(":\n"))) +
                        " is not a canonical number that fits into the body");
  }
  position_ += digits + 1;
  return *length;
}

void FieldReader::fail_missing(std::string_view key) const {
  std::string problem = "field " + quoted(key) + " is missing";
  if (position_ < body_.size()) {
    problem += ": found " + quoted(rest().substr(0, rest().find(':'))) + " at byte " + std::to_string(position_);
  }
  throw DecodeError(problem);
}

void FieldReader::fail_field(std::string_view key, std::string_view problem) {
  throw DecodeError("field " + quoted(key) + ": " + std::string(problem));
}

void FieldReader::fail_value(std::string_view key, std::string_view text, std::string_view expected) {
  fail_field(key, quoted(text) + " is not " + std::string(expected));
}

}  // namespace perdure::detail
