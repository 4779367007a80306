// Every provider does what the memory provider does.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/testing/forwarding_provider.h>
#include <perdure/testing/provider_comparison.h>
#include "providers/differential_suite.h"
#include "providers/factories.h"
#include "providers/instance_import.h"

namespace perdure::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Sqlite, Differential,
                         in_shares({{"File", make_sqlite_file_factory}, {"Memory", make_sqlite_memory_factory}}, 100),
                         share_name);

// ---- The comparison notices ----

// Counts a fetch that is taken back.
class ForgetsIgnoredAttempts final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::vector<ProviderResult<void>> abandon_orchestration_items(std::span<const Abandon> abandons) override {
    std::vector<Abandon> changed(abandons.begin(), abandons.end());
    for (Abandon& abandon : changed) abandon.ignore_attempt = false;
    return inner().abandon_orchestration_items(changed);
  }
};

// Writes, and forgets to change what nobody reads but a client.
class ForgetsCustomStatus final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    std::vector<TurnCommit> changed(commits.begin(), commits.end());
    for (TurnCommit& commit : changed) commit.custom_status.reset();
    return inner().ack_orchestration_items(changed);
  }
};

// Claims sessions as if their owners had room without end.
class ForgetsCapacity final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    WorkFetch changed = fetch;
    if (changed.session) changed.session->max_sessions = SessionFetch{}.max_sessions;
    return inner().fetch_work_items(changed);
  }
};

// Takes instances from elsewhere without their values.
class ForgetsImportedValues final : public ForwardingProvider, public InstanceImport {
 public:
  using ForwardingProvider::ForwardingProvider;
  ProviderResult<void> import_instances(std::span<const InstanceCopy> instances) override {
    std::vector<InstanceCopy> changed(instances.begin(), instances.end());
    for (InstanceCopy& copy : changed) copy.key_values.clear();
    return dynamic_cast<InstanceImport&>(inner()).import_instances(changed);
  }
};

template <class Faulty>
class FaultyFactory final : public ProviderFactory {
 public:
  explicit FaultyFactory(std::unique_ptr<ProviderFactory> inner) : inner_(std::move(inner)) {}
  std::shared_ptr<Provider> create() override { return std::make_shared<Faulty>(inner_->create()); }
  void advance(Milliseconds by) override { inner_->advance(by); }
  void step(Milliseconds by) override { inner_->step(by); }
  void corrupt_history(Provider& store, const std::string& instance) override {
    inner_->corrupt_history(dynamic_cast<ForwardingProvider&>(store).inner(), instance);
  }
  [[nodiscard]] Milliseconds orphan_retention() const override { return inner_->orphan_retention(); }

 private:
  std::unique_ptr<ProviderFactory> inner_;
};

template <class Faulty>
ComparisonReport first_difference(std::unique_ptr<ProviderFactory> (*make)() = make_memory_factory) {
  ComparisonReport report;
  for (std::uint64_t seed = 1; seed <= 10 && !report.difference; ++seed) {
    const std::unique_ptr<ProviderFactory> reference = make();
    FaultyFactory<Faulty> faulty(make());
    report = compare_providers(*reference, faulty, seed, 500);
  }
  return report;
}

TEST(DifferentialComparison, FindsNothingBetweenTwoOfAKind) {
  EXPECT_FALSE(first_difference<ForwardingProvider>().difference.has_value());
}

TEST(DifferentialComparison, NoticesAnAttemptThatIsCounted) {
  const ComparisonReport report = first_difference<ForgetsIgnoredAttempts>();
  ASSERT_TRUE(report.difference.has_value());
  EXPECT_NE(report.difference->reference, report.difference->candidate);
  const std::string line = "seed " + std::to_string(report.seed) + ", 500 operations, differs at " +
                           std::to_string(report.difference->operation);
  EXPECT_EQ(report.to_string().substr(0, line.size()), line);
}

TEST(DifferentialComparison, NoticesAStatusThatIsNotWritten) {
  EXPECT_TRUE(first_difference<ForgetsCustomStatus>().difference.has_value());
}

TEST(DifferentialComparison, NoticesASessionBeyondCapacity) {
  EXPECT_TRUE(first_difference<ForgetsCapacity>().difference.has_value());
}

TEST(DifferentialComparison, NoticesAnImportWithoutItsValues) {
  EXPECT_TRUE(first_difference<ForgetsImportedValues>(make_sqlite_memory_factory).difference.has_value());
}

TEST(DifferentialComparison, RepeatsARunByItsSeed) {
  const ComparisonReport first = first_difference<ForgetsIgnoredAttempts>();
  const ComparisonReport second = first_difference<ForgetsIgnoredAttempts>();
  ASSERT_TRUE(first.difference && second.difference);
  EXPECT_EQ(first.seed, second.seed);
  EXPECT_EQ(first.difference->operation, second.difference->operation);
}

}  // namespace
}  // namespace perdure::testing
