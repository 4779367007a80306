// A program that is interfered with at every moment: once after each number of steps, until it ends before that.
#pragma once

#include <string>

#include "lifecycles/programs.h"

namespace perdure::test {

// Takes that many steps. If there is nothing to do, a second passes; work due by then is done without being counted.
// Returns false if everything has come to rest before.
inline bool take_steps(World& world, int steps) {
  constexpr int kMostIdle = 3;
  int idle = 0;
  for (int i = 0; i < steps && idle <= kMostIdle;) {
    if (world.step()) {
      ++i;
      idle = 0;
    } else {
      ++idle;
      world.advance(1s);
    }
  }
  return idle <= kMostIdle;
}

// A world on disk or on a server costs more, so there some moments must do.
inline int moments_between(StoreKind store) {
  switch (store) {
    case StoreKind::kMemory:
      return 1;
    case StoreKind::kSqlite:
      return 3;
    case StoreKind::kPostgres:
      return 7;
  }
  return 1;
}

// program(world, moment) takes that many steps, interferes, and checks; it returns what take_steps returned.
template <class Program>
void at_every_moment(const WorldKind& kind, Program program) {
  constexpr int kMost = 400;
  const int stride = moments_between(kind.store);
  int moment = static_cast<int>(kind.seed) % stride;
  bool interfered = true;
  for (; interfered && moment < kMost && !::testing::Test::HasFailure(); moment += stride) {
    World world(kind);
    interfered = program(world, moment);
    EXPECT_FALSE(::testing::Test::HasFailure()) << "at moment " << moment;
  }
  if (::testing::Test::HasFailure()) return;
  EXPECT_GT(moment, 10) << "or else the test does not see much";
  EXPECT_LT(moment, kMost);
}

class AtEveryMoment : public ::testing::TestWithParam<WorldKind> {};

#define PERDURE_AT_EVERY_MOMENT(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(Worlds, suite, ::testing::ValuesIn(::perdure::test::stepped_worlds()), \
                           [](const auto& world) { return world.param.name(); })

// Everything that a workflow can wait for, under the number n that all of its parts must bring back. Wrong parts make
// it fail with "wrong ...".
Registry whole_life();

inline void start_two_nodes(World& world, const Registry& registry) {
  world.start_node(registry);
  world.start_node(registry);
}

inline void expect_deletable(World& world, const std::string& id) {
  world.advance(1min);
  world.client().delete_instance(id);
  expect_nothing_left(world.client());
}

}  // namespace perdure::test
