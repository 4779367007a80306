// The seeds of fuzz/codec_fuzz.cpp: one per kind, so that the search starts inside every decoder.
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "model/event_codec.h"
#include "model/history_text.h"
#include "model/message_codec.h"
#include "support/data_file.h"
#include "support/sample_model.h"

namespace perdure {
namespace {

void expect_seed(std::string_view what, std::string_view name, const std::string& content) {
  test_support::expect_data_file("../../fuzz/corpus/codec/" + std::string(what) + '_' + std::string(name), content);
}

// As codec_fuzz.cpp reads it: what it is, the kind (A is 1), the body.
std::string seed(char what, std::uint16_t kind, const std::string& body) {
  return std::string{what, static_cast<char>('@' + kind)} + body;
}

TEST(FuzzCorpusTest, HasTheFirstSampleOfEveryEventKind) {
  std::set<std::uint16_t> seen;
  for (const Event& event : test_support::sample_events()) {
    const EventRecord record = encode_event(event);
    if (seen.insert(record.kind).second) {
      expect_seed("event", kind_name(event.body), seed('e', record.kind, record.body));
    }
  }
}

TEST(FuzzCorpusTest, HasTheFirstSampleOfEveryMessageKind) {
  std::set<std::uint16_t> seen;
  for (const MessageBody& message : test_support::sample_messages()) {
    const std::uint16_t kind = message_kind_code(message);
    if (seen.insert(kind).second) {
      const std::string body = encode_message_body(message);
      expect_seed("message", kind_name(message), seed('m', kind, "1 0.1.0" + body.substr(body.find('\n'))));
    }
  }
}

TEST(FuzzCorpusTest, HasAHistory) {
  const std::vector<Event> events = test_support::sample_events();
  expect_seed("history", "text", 'h' + write_history_text(std::span(events).first(4)));
}

}  // namespace
}  // namespace perdure
