// A saga: what has been done is undone, last first, when a later step fails.
//
// A trip is a flight, a hotel and a car. There is no car in Atlantis, so the hotel and the flight are cancelled again.
//
// It prints:
//   trip to Lisbon
//     book flight
//     book hotel
//     book car
//   done: Lisbon is booked
//   trip to Atlantis
//     book flight
//     book hotel
//     cancel hotel
//     cancel flight
//   done: Atlantis is not booked: there is no car in Atlantis
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

constexpr std::array<const char*, 3> kParts = {"flight", "hotel", "car"};

perdure::Orchestration<std::string> trip(perdure::OrchestrationContext ctx, std::string city) {
  // Nobody else repeats a compensation that fails, so it gets a retry policy.
  const auto persistently = perdure::ActivityOptions().retry(perdure::RetryPolicy(5));

  perdure::Saga saga(ctx);
  for (const std::string part : kParts) {
    // As a value, not an exception: C++ allows no co_await in a catch block.
    const auto booked = co_await ctx.schedule_activity<void>("Book " + part, city).as_result();
    if (!booked) {
      const auto not_undone = co_await saga.compensate();
      if (!not_undone.empty()) throw perdure::OrchestrationError("not undone: " + not_undone.front().to_string());
      co_return city + " is not booked: " + booked.error().message();
    }
    saga.undo_with("Cancel " + part, city, persistently);
  }
  saga.commit();  // nothing is to be undone any more
  co_return city + " is booked";
}

// What the travel agency has done.
class Agency {
 public:
  void note(const std::string& what) {
    std::printf("  %s\n", what.c_str());
    const std::scoped_lock lock(mutex_);
    done_.push_back(what);
  }
  std::vector<std::string> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(done_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> done_;
};

void expect(const perdure::Client& client, Agency& agency, const std::string& city,
            const std::vector<std::string>& wanted) {
  std::printf("trip to %s\n", city.c_str());
  client.start_orchestration("trip-" + city, "Trip", city);
  const auto result = client.wait_for_orchestration("trip-" + city, 30s).result<std::string>();
  std::printf("done: %s\n", result.c_str());
  if (agency.take() != wanted) throw std::runtime_error("the agency has not done what it should for " + city);
}

int run() {
  Agency agency;
  perdure::Registry registry;
  registry.add_orchestration("Trip", trip);
  for (const std::string part : kParts) {
    registry.add_activity("Book " + part, [&agency, part](perdure::ActivityContext&, const std::string& city) {
      if (part == "car" && city == "Atlantis") throw perdure::NonRetryableError("there is no car in Atlantis");
      agency.note("book " + part);
    });
    registry.add_activity("Cancel " + part, [&agency, part](perdure::ActivityContext&, const std::string&) {
      agency.note("cancel " + part);
    });
  }

  const auto store = perdure::make_memory_provider();
  const perdure::Runtime runtime(store, registry);
  const perdure::Client client(store);
  expect(client, agency, "Lisbon", {"book flight", "book hotel", "book car"});
  expect(client, agency, "Atlantis", {"book flight", "book hotel", "cancel hotel", "cancel flight"});
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "saga: %s\n", error.what());
    return 1;
  }
}
