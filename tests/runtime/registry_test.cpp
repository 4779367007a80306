// The registry: names, versions, policies, and all mistakes at once.
#include <perdure/registry.h>

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Orchestration<void> does_nothing(OrchestrationContext) {
  co_return;
}

std::optional<SemanticVersion> resolved(const Registry& registry, std::string_view name,
                                        std::optional<SemanticVersion> version = std::nullopt) {
  const auto found = registry.resolve(name, version);
  if (!found) return std::nullopt;
  EXPECT_TRUE(found->handler);
  return found->version;
}

TEST(Registry, WithoutAVersionItIsOneZeroZero) {
  Registry registry;
  registry.add_orchestration("A", does_nothing);
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{1, 0, 0}));
  EXPECT_EQ(resolved(registry, "A", SemanticVersion{1, 0, 0}), (SemanticVersion{1, 0, 0}));
  EXPECT_NO_THROW(registry.check());
}

TEST(Registry, WhatIsNotThereIsNotResolved) {
  Registry registry;
  registry.add_orchestration("A", does_nothing);
  EXPECT_EQ(resolved(registry, "B"), std::nullopt);
  EXPECT_EQ(resolved(registry, "a"), std::nullopt);
  EXPECT_EQ(resolved(registry, "A", SemanticVersion{1, 0, 1}), std::nullopt);
  EXPECT_FALSE(registry.has("B"));
  EXPECT_THAT(registry.versions("B"), IsEmpty());
}

TEST(Registry, VersionsMayComeInAnyOrder) {
  Registry registry;
  for (const char* version : {"2.0.0", "1.10.0", "1.9.0", "10.0.0"})
    registry.add_orchestration("A", version, does_nothing);
  EXPECT_THAT(registry.errors(), IsEmpty());
  EXPECT_THAT(registry.versions("A"), ElementsAre(SemanticVersion{1, 9, 0}, SemanticVersion{1, 10, 0},
                                                  SemanticVersion{2, 0, 0}, SemanticVersion{10, 0, 0}));
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{10, 0, 0}));
  EXPECT_EQ(resolved(registry, "A", SemanticVersion{1, 9, 0}), (SemanticVersion{1, 9, 0}));
}

TEST(Registry, CheckRefusesPoliciesThatNameNothingRegistered) {
  Registry registry;
  registry.add_orchestration("A", "1.0.0", does_nothing).add_orchestration("A", "1.1.0", does_nothing);
  registry.set_version_policy("A", VersionPolicy::exact({2, 0, 0}));
  registry.set_version_policy("B", VersionPolicy::latest());
  std::string error;
  try {
    registry.check();
  } catch (const std::invalid_argument& invalid) {
    error = invalid.what();
  }
  EXPECT_THAT(error,
              HasSubstr("policy of orchestration 'A' names version 2.0.0, which is not registered; registered are "
                        "1.0.0, 1.1.0"));
  EXPECT_THAT(error, HasSubstr("policy of orchestration 'B' names an orchestration that is not registered"));
  registry.add_orchestration("A", "2.0.0", does_nothing).add_orchestration("B", does_nothing);
  EXPECT_NO_THROW(registry.check());
}

TEST(Registry, EachVersionHasItsOwnHandler) {
  Registry registry;
  registry.add_orchestration("A", "1.0.0", does_nothing).add_orchestration("A", "2.0.0", does_nothing);
  EXPECT_NE(registry.resolve("A", SemanticVersion{1, 0, 0})->handler, registry.resolve("A")->handler);
}

TEST(Registry, APolicyDecidesForStartsWithoutAVersion) {
  Registry registry;
  registry.add_orchestration("A", "1.0.0", does_nothing).add_orchestration("A", "2.0.0", does_nothing);
  registry.set_version_policy("A", VersionPolicy::exact({1, 0, 0}));
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{1, 0, 0}));
  EXPECT_EQ(resolved(registry, "A", SemanticVersion{2, 0, 0}), (SemanticVersion{2, 0, 0}));
  registry.set_version_policy("A", VersionPolicy::latest());
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{2, 0, 0}));
}

TEST(Registry, APolicyMayComeBeforeItsVersionAndUntilThenResolvesToNothing) {
  Registry registry;
  registry.set_version_policy("A", VersionPolicy::exact({2, 0, 0}));
  registry.add_orchestration("A", "1.0.0", does_nothing);
  EXPECT_EQ(resolved(registry, "A"), std::nullopt);
  registry.add_orchestration("A", "2.0.0", does_nothing).add_orchestration("A", "3.0.0", does_nothing);
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{2, 0, 0}));
}

TEST(Registry, MistakesAreCollectedAndToldTogether) {
  Registry registry;
  registry.add_orchestration("", does_nothing)
      .add_orchestration("Bad", "1.0", does_nothing)
      .add_orchestration("Twice", does_nothing)
      .add_orchestration("Twice", "1.0.0", does_nothing);
  ASSERT_EQ(registry.errors().size(), 3u);
  EXPECT_THAT(registry.errors()[0], HasSubstr("name must not be empty"));
  EXPECT_THAT(registry.errors()[1], HasSubstr("'Bad'"));
  EXPECT_THAT(registry.errors()[1], HasSubstr("'1.0'"));
  EXPECT_THAT(registry.errors()[2], HasSubstr("'Twice': version 1.0.0 was registered twice"));
  try {
    registry.check();
    FAIL() << "check() accepted it";
  } catch (const std::invalid_argument& error) {
    for (const auto& each : registry.errors()) EXPECT_THAT(error.what(), HasSubstr(each));
  }
}

TEST(Registry, ABadOrDuplicateRegistrationChangesNothing) {
  Registry registry;
  registry.add_orchestration("A", does_nothing);
  const auto handler = registry.resolve("A")->handler;
  registry.add_orchestration("A", does_nothing).add_orchestration("B", "one", does_nothing);
  EXPECT_EQ(registry.resolve("A")->handler, handler);
  EXPECT_FALSE(registry.has("B"));
  EXPECT_EQ(registry.size(), 1u);
}

TEST(Registry, NamesAreListedInOrder) {
  Registry registry;
  for (const char* name : {"pear", "apple", "fig"}) registry.add_orchestration(name, does_nothing);
  registry.add_orchestration("fig", "2.0.0", does_nothing);
  EXPECT_THAT(registry.names(), ElementsAre("apple", "fig", "pear"));
  EXPECT_EQ(registry.size(), 3u);
  EXPECT_TRUE(registry.has("fig"));
}

TEST(Registry, MergingTakesHandlersAndMistakesButNoPolicies) {
  Registry other;
  other.add_orchestration("A", "2.0.0", does_nothing)
      .add_orchestration("B", does_nothing)
      .add_orchestration("C", "x", does_nothing);
  other.set_version_policy("A", VersionPolicy::exact({1, 0, 0}));
  Registry registry;
  registry.add_orchestration("A", "1.0.0", does_nothing);
  registry.merge(other);
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{2, 0, 0}));
  EXPECT_TRUE(registry.has("B"));
  ASSERT_EQ(registry.errors().size(), 1u);
  EXPECT_THAT(registry.errors()[0], HasSubstr("'C'"));
}

TEST(Registry, MergingTheSameVersionIsAMistakeAndKeepsTheFirst) {
  Registry other;
  other.add_orchestration("A", does_nothing);
  Registry registry;
  registry.add_orchestration("A", does_nothing);
  const auto handler = registry.resolve("A")->handler;
  registry.merge(other);
  EXPECT_THAT(registry.errors(), ElementsAre(HasSubstr("'A': version 1.0.0 was registered twice")));
  EXPECT_EQ(registry.resolve("A")->handler, handler);
}

TEST(Registry, ACopyIsIndependent) {
  Registry registry;
  registry.add_orchestration("A", does_nothing);
  Registry copy = registry;
  copy.add_orchestration("B", does_nothing);
  copy.set_version_policy("A", VersionPolicy::exact({9, 0, 0}));
  EXPECT_FALSE(registry.has("B"));
  EXPECT_EQ(resolved(registry, "A"), (SemanticVersion{1, 0, 0}));
}

}  // namespace
}  // namespace perdure::test
