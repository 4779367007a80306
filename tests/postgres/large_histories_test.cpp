// Histories that are too large for the answer to a fetch.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/postgres_provider.h>
#include <perdure/provider_admin.h>
#include "postgres/orders.h"
#include "support/postgres_server.h"

namespace perdure::test {
namespace {

OrchestrationItem locked(const std::vector<OrchestrationItem>& items, const std::string& instance) {
  for (const OrchestrationItem& item : items) {
    if (item.instance == instance) return item;
  }
  ADD_FAILURE() << instance << " was not fetched";
  return {};
}

std::vector<OrchestrationItem> fetch_two(Provider& store) {
  OrchestrationFetch fetch;
  fetch.limit = 2;
  return store.fetch_orchestration_items(fetch).value().items;
}

// The server builds one row for an instance, of at most 1 GB: a fetch that needs more would fail for all instances.
TEST(PostgresLargeHistories, AFetchLeavesThemOutAndTheyAreReadByThemselves) {
  constexpr EventId kLargeEvents = 5;
  const std::string large(std::size_t{16} << 20, 'x');
  const PostgresServer server;
  const std::shared_ptr<Provider> store = PostgresProvider::connect(server.url());
  for (const char* id : {"large", "small"}) ASSERT_TRUE(store->enqueue_start(start_of(id), StartPolicy::kFail));
  for (const OrchestrationItem& item : fetch_two(*store)) {
    ASSERT_TRUE(store->ack_orchestration_item(first_turn_of(item, 1)));
  }
  EventId last = 1;
  const auto add_events = [&](EventId count) {
    std::vector<EventRecord> events;
    for (EventId added = 0; added < count; ++added) {
      events.push_back(event_of_order(++last));
      events.back().body = large;
    }
    ASSERT_TRUE(store->admin()->append_history("large", kFirstExecutionId, events));
  };
  const auto fetch_both = [&] {
    for (const char* id : {"large", "small"}) {
      EXPECT_TRUE(store->enqueue_messages(std::vector{message_for(id, MessageKind::kExternalRaised)}).front());
    }
    return fetch_two(*store);
  };
  const auto abandon = [&](const std::vector<OrchestrationItem>& items) {
    for (const OrchestrationItem& item : items) {
      const Abandon back{.token = item.token, .delay = Milliseconds(0), .ignore_attempt = true};
      ASSERT_TRUE(store->abandon_orchestration_items({&back, 1}).front());
    }
  };

  add_events(2);
  std::vector<OrchestrationItem> items = fetch_both();
  ASSERT_TRUE(locked(items, "large").history);
  EXPECT_EQ(locked(items, "large").history->events.size(), 3U);
  abandon(items);

  add_events(kLargeEvents - 2);
  items = fetch_both();
  EXPECT_FALSE(locked(items, "large").history);
  ASSERT_TRUE(locked(items, "small").history);
  EXPECT_EQ(locked(items, "small").history->events.size(), 1U);
  const StoredHistory history = store->read_history(locked(items, "large").token, 0).value();
  EXPECT_FALSE(history.error) << *history.error;
  ASSERT_EQ(history.events.size(), 1U + kLargeEvents);
  EXPECT_EQ(history.events.back().body, large);
}

}  // namespace
}  // namespace perdure::test
