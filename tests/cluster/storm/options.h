// What a storm is told.
#pragma once

#include <cstddef>
#include <string>

namespace perdure::test::storm {

struct Options {
  std::size_t seconds = 600;       // of faults; what is under way then still has to end
  std::size_t seed = 0;            // 0: another one each time
  std::size_t nodes = 4;           // processes at any time
  std::size_t in_flight = 60;      // workflows, at most
  std::size_t rate = 15;           // workflows that are started in a second, at most
  std::size_t volume = 256;        // mebibytes, for the tables of the store
  std::size_t round = 45;          // seconds in which faults begin; those that have begun then end
  std::size_t calm = 21;           // seconds without a fault before each round
  std::size_t silence_least = 10;  // seconds
  std::size_t silence_most = 40;
  std::size_t bound = 90;  // seconds after the last fault in which every workflow must complete
  std::string planted;     // what nodes do wrong: see testing/cluster/workflows.h
};

}  // namespace perdure::test::storm
