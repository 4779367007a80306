#include "providers/event_packing.h"

#include <charconv>
#include <cstdint>
#include <limits>

namespace perdure {

namespace {

constexpr std::size_t kMaxDigits = std::numeric_limits<std::uint64_t>::digits10 + 2;

template <class Integer>
void append_number(std::string& data, Integer number, char separator) {
  char digits[kMaxDigits];
  const auto [end, error] = std::to_chars(digits, digits + kMaxDigits, number);
  data.append(digits, end);
  data += separator;
}

// Takes a number and the separator behind it off the front.
template <class Integer>
bool take_number(std::string_view& data, Integer& number, char separator) {
  const char* const end = data.data() + data.size();
  const auto [rest, error] = std::from_chars(data.data(), end, number);
  if (error != std::errc() || rest == end || *rest != separator) return false;
  data.remove_prefix(static_cast<std::size_t>(rest - data.data()) + 1);
  return true;
}

}  // namespace

std::string pack_events(std::span<const EventRecord> events) {
  std::size_t size = 0;
  for (const EventRecord& event : events) size += event.body.size() + 2 * kMaxDigits;
  std::string data;
  data.reserve(size);
  for (const EventRecord& event : events) {
    append_number(data, event.event_id, ' ');
    append_number(data, event.kind, ' ');
    append_number(data, event.turn, ' ');
    append_number(data, event.time.time_since_epoch().count(), ' ');
    append_number(data, event.body.size(), '\n');
    data += event.body;
    data += '\n';
  }
  return data;
}

bool unpack_events(std::string_view data, std::vector<EventRecord>& events) {
  while (!data.empty()) {
    EventRecord event;
    Milliseconds::rep time = 0;
    std::size_t size = 0;
    if (!take_number(data, event.event_id, ' ') || !take_number(data, event.kind, ' ') ||
        !take_number(data, event.turn, ' ') || !take_number(data, time, ' ') || !take_number(data, size, '\n')) {
      return false;
    }
    if (size >= data.size() || data[size] != '\n') return false;
    event.time = Timestamp(Milliseconds(time));
    event.body = data.substr(0, size);
    data.remove_prefix(size + 1);
    events.push_back(std::move(event));
  }
  return true;
}

}  // namespace perdure
