#include "cli/instance_file.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "cli/byte_text.h"
#include "model/utf8.h"

namespace perdure::cli {

namespace {

using Line = nlohmann::ordered_json;

constexpr const char* kInstanceFormat = "perdure instances";
constexpr int kInstanceFormatVersion = 1;

constexpr std::uint64_t kChecksumBegin = 0xcbf29ce484222325U;

// FNV-1a: finds what was changed by accident, not by intent.
std::uint64_t checksum_of(std::uint64_t before, std::string_view text) noexcept {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return before;
}

std::string checksum_text(std::uint64_t checksum) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, checksum >>= 4U) {
    *digit = "0123456789abcdef"[checksum & 0xFU];
  }
  return text;
}

Line optional_bytes(const Payload& bytes) {
  return bytes ? bytes_to_json(*bytes) : Line(nullptr);
}

Line optional_version(const std::optional<SemanticVersion>& version) {
  return version ? Line(version->to_string()) : Line(nullptr);
}

Line time_number(Timestamp time) {
  return time.time_since_epoch().count();
}

// ---- reading: every function names the field that it misses ----

const Line& field(const Line& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) throw std::invalid_argument("the field '" + std::string(name) + "' is missing");
  return *found;
}

// What `read` makes of the field; what it throws is about that field.
template <class Read>
auto read_field(const Line& line, const char* name, const Read& read) {
  const Line& value = field(line, name);
  try {
    return read(value);
  } catch (const std::exception& error) {
    throw std::invalid_argument("the field '" + std::string(name) + "' cannot be read: " + error.what());
  }
}

std::string bytes_field(const Line& line, const char* name) {
  return read_field(line, name, bytes_from_json);
}

Payload optional_bytes_field(const Line& line, const char* name) {
  return read_field(line, name, [](const Line& value) -> Payload {
    if (value.is_null()) return std::nullopt;
    return bytes_from_json(value);
  });
}

std::uint64_t number_field(const Line& line, const char* name) {
  return read_field(line, name, [](const Line& value) {
    if (!value.is_number_unsigned()) throw std::invalid_argument("not a number that is at least 0");
    return value.get<std::uint64_t>();
  });
}

Timestamp time_field(const Line& line, const char* name) {
  return read_field(line, name, [](const Line& value) {
    if (!value.is_number_integer()) throw std::invalid_argument("not a time in milliseconds");
    return Timestamp(Milliseconds(value.get<std::int64_t>()));
  });
}

std::optional<SemanticVersion> version_field(const Line& line, const char* name) {
  return read_field(line, name, [](const Line& value) -> std::optional<SemanticVersion> {
    if (value.is_null()) return std::nullopt;
    return SemanticVersion::of(value.get_ref<const std::string&>());
  });
}

ExecutionStatus status_field(const Line& line) {
  const std::string text = bytes_field(line, "status");
  for (const ExecutionStatus status :
       {ExecutionStatus::kCompleted, ExecutionStatus::kFailed, ExecutionStatus::kCancelled,
        ExecutionStatus::kTerminated, ExecutionStatus::kContinuedAsNew}) {
    if (text == to_string(status)) return status;
  }
  throw std::invalid_argument("'" + text + "' is not the status of an ended execution");
}

}  // namespace

// ---- writing ----

InstanceFileWriter::InstanceFileWriter(std::ostream& out) : out_(out) {
  line(Line{{"format", kInstanceFormat}, {"version", kInstanceFormatVersion}}.dump());
}

void InstanceFileWriter::line(const std::string& json) {
  const std::string text = detail::printable(json, std::string::npos);  // JSON still, and harmless on a terminal
  out_ << text << '\n';
  checksum_ = checksum_of(checksum_of(checksum_, text), "\n");
}

void InstanceFileWriter::write_tree(const std::vector<InstanceCopy>& tree) {
  for (const InstanceCopy& instance : tree) write(instance);
}

void InstanceFileWriter::write(const InstanceCopy& instance) {
  ++instances_;
  checksum_ = kChecksumBegin;
  const InstanceInfo& info = instance.info;
  line(Line{{"instance", bytes_to_json(info.id)},
            {"name", bytes_to_json(info.name)},
            {"version", optional_version(info.version)},
            {"parent", optional_bytes(info.parent)},
            {"created_at", time_number(info.created_at)},
            {"updated_at", time_number(info.updated_at)},
            {"custom_status", optional_bytes(instance.custom_status.value)},
            {"custom_status_version", instance.custom_status.version},
            {"values", instance.key_values.size()},
            {"executions", instance.executions.size()}}
           .dump());
  for (const KeyValue& value : instance.key_values) {
    line(Line{{"key", bytes_to_json(value.key)},
              {"value", bytes_to_json(value.value)},
              {"updated_at", time_number(value.updated_at)}}
             .dump());
  }
  for (const ExecutionCopy& execution : instance.executions) {
    line(Line{{"execution", execution.info.execution_id},
              {"status", to_string(execution.info.status)},
              {"output", optional_bytes(execution.info.output)},
              {"pinned_version", optional_version(execution.info.pinned_version)},
              {"carried_forward", execution.carried_forward},
              {"started_at", time_number(execution.info.started_at)},
              {"completed_at", time_number(execution.info.completed_at.value_or(Timestamp()))},
              {"events", execution.history.size()}}
             .dump());
    for (const EventRecord& event : execution.history) {
      line(Line{{"event", event.event_id},
                {"kind", event.kind},
                {"turn", event.turn},
                {"time", time_number(event.time)},
                {"body", bytes_to_json(event.body)}}
               .dump());
    }
  }
  line(Line{{"end", bytes_to_json(info.id)}, {"checksum", checksum_text(checksum_)}}.dump());
}

void InstanceFileWriter::finish() {
  line(Line{{"instances", instances_}}.dump());
}

// ---- reading ----

void InstanceFileReader::refuse(const std::string& why) const {
  throw std::invalid_argument(name_ + ", line " + std::to_string(number_) + ": " + why);
}

template <class Read>
auto InstanceFileReader::checked(const Read& read) const {
  try {
    return read();
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

InstanceFileReader::InstanceFileReader(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {
  need_line();
  checked([this] {
    const Line first = Line::parse(text_, nullptr, false);
    if (!first.is_object() || !first.contains("format") || first["format"] != kInstanceFormat) {
      throw std::invalid_argument("the file was not written by 'perdure export'");
    }
    if (number_field(first, "version") != kInstanceFormatVersion) {
      throw std::invalid_argument("the file has version " + first["version"].dump() +
                                  " of its format, but this program reads version 1; use a newer program");
    }
  });
  need_line();
}

bool InstanceFileReader::next_line() {
  if (!text_.empty()) checksum_ = checksum_of(checksum_of(checksum_, text_), "\n");
  if (!std::getline(in_, text_)) return false;
  ++number_;
  return true;
}

void InstanceFileReader::need_line() {
  if (next_line()) return;
  ++number_;
  refuse("the file is truncated; export again");
}

std::optional<std::vector<InstanceCopy>> InstanceFileReader::next_tree() {
  if (at_end_) return std::nullopt;
  std::vector<InstanceCopy> tree;
  for (;;) {
    const std::size_t first_line = number_;
    const Line line = Line::parse(text_, nullptr, false);
    if (!line.is_object()) refuse("the line is not a JSON object");
    if (line.contains("instances")) {
      read_end();
      break;
    }
    const bool is_root = checked([&line] { return field(line, "parent").is_null(); });
    if (is_root && !tree.empty()) break;
    tree.push_back(read_instance());
    const InstanceInfo& info = tree.back().info;
    const auto is_parent = [&info](const InstanceCopy& other) { return other.info.id == info.parent; };
    if (!is_root && std::none_of(tree.begin(), tree.end() - 1, is_parent)) {
      number_ = first_line;
      refuse("'" + info.id + "' is a child of '" + *info.parent + "', which does not precede it");
    }
  }
  if (tree.empty()) return std::nullopt;
  if (const auto error = check_import(tree)) refuse(error->message());
  return tree;
}

// From its first line to the one behind its last.
InstanceCopy InstanceFileReader::read_instance() {
  const std::size_t first_line = number_;
  checksum_ = kChecksumBegin;
  InstanceCopy instance;
  std::uint64_t values = 0;
  std::uint64_t executions = 0;
  checked([&] {
    const Line line = Line::parse(text_);
    instance.info.id = bytes_field(line, "instance");
    instance.info.name = bytes_field(line, "name");
    instance.info.version = version_field(line, "version");
    instance.info.parent = optional_bytes_field(line, "parent");
    instance.info.created_at = time_field(line, "created_at");
    instance.info.updated_at = time_field(line, "updated_at");
    instance.custom_status.value = optional_bytes_field(line, "custom_status");
    instance.custom_status.version = number_field(line, "custom_status_version");
    values = number_field(line, "values");
    executions = number_field(line, "executions");
  });
  for (; values > 0; --values) {
    need_line();
    instance.key_values.push_back(checked([this] {
      const Line line = Line::parse(text_);
      return KeyValue{.key = bytes_field(line, "key"),
                      .value = bytes_field(line, "value"),
                      .updated_at = time_field(line, "updated_at")};
    }));
  }
  for (; executions > 0; --executions) instance.executions.push_back(read_execution());
  if (!instance.executions.empty()) {
    const ExecutionInfo& last = instance.executions.back().info;
    instance.info.execution_id = last.execution_id;
    instance.info.status = last.status;
    instance.info.output = last.output;
    instance.info.pinned_version = last.pinned_version;
    instance.info.completed_at = last.completed_at;
  }
  need_line();
  const std::string found = checksum_text(checksum_);
  checked([&] {
    const Line line = Line::parse(text_);
    if (bytes_field(line, "end") != instance.info.id)
      throw std::invalid_argument("'" + instance.info.id + "' ends here");
    if (bytes_field(line, "checksum") != found) {
      throw std::invalid_argument("the checksum does not match the lines from " + std::to_string(first_line) +
                                  " on: instance '" + instance.info.id + "' was changed; export it again");
    }
  });
  ++instances_;
  need_line();
  return instance;
}

ExecutionCopy InstanceFileReader::read_execution() {
  ExecutionCopy execution;
  need_line();
  checked([&] {
    const Line line = Line::parse(text_);
    ExecutionInfo& info = execution.info;
    info.execution_id = number_field(line, "execution");
    info.status = status_field(line);
    info.output = optional_bytes_field(line, "output");
    info.pinned_version = version_field(line, "pinned_version");
    execution.carried_forward = number_field(line, "carried_forward");
    info.started_at = time_field(line, "started_at");
    info.completed_at = time_field(line, "completed_at");
    info.events = number_field(line, "events");
  });
  for (std::uint64_t left = execution.info.events; left > 0; --left) {
    need_line();
    execution.history.push_back(checked([this] {
      const Line line = Line::parse(text_);
      const std::uint64_t kind = number_field(line, "kind");
      if (kind > std::numeric_limits<std::uint16_t>::max()) throw std::invalid_argument("the kind does not exist");
      return EventRecord{.event_id = number_field(line, "event"),
                         .kind = static_cast<std::uint16_t>(kind),
                         .turn = number_field(line, "turn"),
                         .time = time_field(line, "time"),
                         .body = bytes_field(line, "body")};
    }));
  }
  return execution;
}

void InstanceFileReader::read_end() {
  checked([this] {
    const std::uint64_t expected = number_field(Line::parse(text_), "instances");
    if (expected != instances_) {
      throw std::invalid_argument("the file should contain " + std::to_string(expected) + " instances, but contains " +
                                  std::to_string(instances_));
    }
  });
  if (next_line()) refuse("unexpected data after the last line");
  at_end_ = true;
}

}  // namespace perdure::cli
