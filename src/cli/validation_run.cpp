#include "cli/validation_run.h"

#include <chrono>
#include <iomanip>
#include <memory>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include <perdure/testing/provider_validation.h>
#include "cli/instance_views.h"
#include "cli/text.h"

namespace perdure::cli {

namespace {

using ValidationClock = std::chrono::steady_clock;

std::string full_name(const testing::ValidationTest& test) {
  return std::string(test.group) + "." + std::string(test.name);
}

std::vector<testing::ValidationTest> chosen_tests(const std::string& prefix) {
  std::vector<testing::ValidationTest> tests;
  std::set<std::string> groups;
  for (const testing::ValidationTest& test : testing::provider_validation_tests()) {
    groups.emplace(test.group);
    if (full_name(test).starts_with(prefix)) tests.push_back(test);
  }
  if (!tests.empty()) return tests;
  std::string known;
  for (const std::string& group : groups) known += (known.empty() ? "" : ", ") + group;
  throw CommandError(kUsage, "no test begins with '" + prefix + "'; use one of the groups " + known);
}

nlohmann::json validation_json(const std::string& store, const std::vector<std::string>& names,
                               const testing::ValidationReport& report, double seconds) {
  nlohmann::json failures = nlohmann::json::array();
  for (const auto& failure : report.failures) failures.push_back({{"name", failure.test}, {"message", failure.what}});
  return {{"store", store},
          {"passed", report.run - report.failures.size()},
          {"failed", report.failures.size()},
          {"names", names},
          {"failures", failures},
          {"seconds", seconds}};
}

}  // namespace

int run_validation(const Context& context, ValidationStores& stores, const std::string& store,
                   const std::string& prefix, const Interrupt& interrupt) {
  const std::vector<testing::ValidationTest> tests = chosen_tests(prefix);
  const auto begin = ValidationClock::now();
  auto told = begin;
  testing::ValidationReport report;
  std::vector<std::string> names;
  names.reserve(tests.size());
  for (const testing::ValidationTest& test : tests) {
    interrupt.throw_if_requested();  // and `stores` removes what it has made
    names.push_back(full_name(test));
    ++report.run;
    const std::unique_ptr<testing::ProviderFactory> factory = stores.make_factory();
    try {
      test.run(*factory);
    } catch (const std::exception& failure) {  // of the test, or of the store where the test expects none
      report.failures.push_back({.test = names.back(), .what = failure.what()});
    }
    if (ValidationClock::now() - told > std::chrono::seconds(5)) {
      told = ValidationClock::now();
      context.progress() << report.run << " of " << tests.size() << " tests, " << report.failures.size() << " failed\n";
    }
  }
  const double seconds = std::chrono::duration<double>(ValidationClock::now() - begin).count();
  if (context.json) {
    print_json(context, validation_json(store, names, report, seconds));
  } else {
    for (const auto& failure : report.failures) {
      context.out << painted(context, Colour::kBad, "failed") << ' ' << failure.test << ": " << failure.what << '\n';
    }
    context.out << report.run << " tests, " << report.run - report.failures.size() << " passed, "
                << report.failures.size() << " failed; " << std::fixed << std::setprecision(1) << seconds << " s\n";
  }
  return report.failures.empty() ? kSuccess : kNegative;
}

}  // namespace perdure::cli
