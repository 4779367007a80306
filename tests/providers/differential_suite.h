// The differential test: a provider does what the memory provider or another reference does, for some seeds. Include it
// once in a test program, and instantiate it with the providers that this has.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/testing/provider_comparison.h>
#include "providers/factories.h"

namespace perdure::testing {

struct DifferentialCandidate {
  const char* name;
  std::unique_ptr<ProviderFactory> (*make)();
  std::unique_ptr<ProviderFactory> (*reference)() = make_memory_factory;
};

// A range of seeds for a candidate: one test.
struct DifferentialShare {
  DifferentialCandidate candidate;
  std::size_t number = 0;
  std::uint64_t first_seed = 0;
  std::uint64_t last_seed = 0;  // before the first: none
  std::size_t operations = 500;

  friend std::ostream& operator<<(std::ostream& out, const DifferentialShare& share) {
    return out << "seeds " << share.first_seed << " to " << share.last_seed;
  }
};

// PERDURE_DIFFERENTIAL="17..17:500" replays a run or, with more seeds and operations, makes the search longer.
inline DifferentialShare wanted_seeds(std::uint64_t last_seed) {
  DifferentialShare all{.candidate = {}, .first_seed = 1, .last_seed = last_seed};
  const char* const wanted = std::getenv("PERDURE_DIFFERENTIAL");
  if (wanted == nullptr) return all;
  const std::string_view text(wanted);
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, all.first_seed);
  if (end - read.ptr > 2) read = std::from_chars(read.ptr + 2, end, all.last_seed);
  if (end - read.ptr > 1) read = std::from_chars(read.ptr + 1, end, all.operations);
  if (read.ec != std::errc() || read.ptr != end || all.last_seed < all.first_seed) {
    throw std::invalid_argument("PERDURE_DIFFERENTIAL is 'first..last:operations', as in 1..1000:2000");
  }
  return all;
}

// Shares, so that they run beside each other, of the seeds from 1 on.
inline auto in_shares(const std::vector<DifferentialCandidate>& candidates, std::uint64_t last_seed) {
  constexpr std::size_t kShares = 5;
  const DifferentialShare all = wanted_seeds(last_seed);
  const std::uint64_t count = all.last_seed - all.first_seed + 1;
  std::vector<DifferentialShare> shares;
  for (const DifferentialCandidate& candidate : candidates) {
    for (std::size_t number = 0; number < kShares; ++number) {
      shares.push_back({.candidate = candidate,
                        .number = number,
                        .first_seed = all.first_seed + count * number / kShares,
                        .last_seed = all.first_seed + count * (number + 1) / kShares - 1,
                        .operations = all.operations});
    }
  }
  return ::testing::ValuesIn(shares);
}

inline std::string share_name(const ::testing::TestParamInfo<DifferentialShare>& share) {
  return std::string(share.param.candidate.name) + "Share" + std::to_string(share.param.number);
}

class Differential : public ::testing::TestWithParam<DifferentialShare> {};

TEST_P(Differential, AnswersLikeTheReference) {
  const DifferentialShare& share = GetParam();
  for (std::uint64_t seed = share.first_seed; seed <= share.last_seed; ++seed) {
    const std::unique_ptr<ProviderFactory> reference = share.candidate.reference();
    const std::unique_ptr<ProviderFactory> other = share.candidate.make();
    const ComparisonReport report = compare_providers(*reference, *other, seed, share.operations);
    ASSERT_FALSE(report.difference.has_value()) << report.to_string();
  }
}

}  // namespace perdure::testing
