// The trial subscription, tested with Catch2.
#define CATCH_CONFIG_MAIN
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <perdure/testing/test_environment.h>
#include "trial.h"

TEST_CASE("a trial subscription") {
  using namespace std::chrono_literals;
  using perdure::ActivityContext;

  perdure::testing::TestEnvironment env(trial_workflows());
  env.mock_activity(kSendMail, [](ActivityContext&, const std::string&) {});
  env.mock_activity(kChargeCard,
                    [](ActivityContext&, const std::string& customer) { return "receipt of " + customer; });
  const perdure::Timestamp start = env.now();

  SECTION("is charged after thirty days") {
    CHECK(env.run("t", "Trial", "Ada").result<std::string>() == "receipt of Ada");
    CHECK((env.now() - start == 30 * 24h));
    CHECK(env.inputs(kChargeCard) == std::vector<std::string>{"Ada"});
  }

  SECTION("is not charged when cancelled in time") {
    env.raise_event_after(30 * 24h - 1s, "t", "cancelled");
    CHECK(env.run("t", "Trial", "Ada").result<std::string>() == "cancelled");
    CHECK(env.calls(kChargeCard).empty());
  }

  SECTION("tries the card again every day") {
    env.mock_activity(kChargeCard, [&env](ActivityContext&, const std::string&) -> std::string {
      if (env.calls(kChargeCard).size() < 3) throw std::runtime_error("the bank does not answer");
      return "receipt";
    });
    CHECK(env.run("t", "Trial", "Ada").result<std::string>() == "receipt");
    CHECK((env.now() - start == 32 * 24h));
  }

  SECTION("survives the death of its process") {
    env.after(10 * 24h, [&env] { env.restart(); });
    CHECK(env.run("t", "Trial", "Ada").result<std::string>() == "receipt of Ada");
    CHECK(env.calls(kSendMail).size() == 1);
  }
}
