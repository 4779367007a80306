// docs/metrics.md lists exactly the metrics of the engine, and so does metric::all().
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <perdure/engine_metrics.h>

namespace perdure {
namespace {

std::string contents(const std::string& file) {
  std::ifstream in(std::string(PERDURE_SOURCE_DIR) + "/" + file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// `a`, `b` -> a b
std::string plain(const std::string& cell) {
  return cell == "–" ? "" : std::regex_replace(cell, std::regex("[`,]"), "");
}

TEST(MetricsDocumentTest, ListsEveryMetricWithItsTypeLabelsAndMeaning) {
  std::map<std::string, std::string> documented;
  const std::string text = contents("docs/metrics.md");
  const std::regex row(R"(\| `(perdure_\w+)` \| (\w+) \| (.*?) \| (.*?) \|)");
  for (std::sregex_iterator each(text.begin(), text.end(), row), end; each != end; ++each) {
    const std::string name = (*each)[1];
    EXPECT_TRUE(documented.emplace(name, (*each)[2].str() + ": " + plain((*each)[3])).second) << name << " twice";
    EXPECT_GT((*each)[4].str().size(), 30U) << name << " is not explained";
  }
  std::map<std::string, std::string> counted;
  for (const MetricId& id : metric::all()) {
    counted.emplace(id.name, std::string(to_string(id.type)) + ": " + std::string(id.labels));
    EXPECT_NE(text.find(id.help), std::string::npos) << id.name << " has another meaning in docs/metrics.md";
  }
  EXPECT_EQ(documented, counted);
}

TEST(MetricsDocumentTest, TheTableHoldsEveryMetricOfTheHeader) {
  const std::string header = contents("include/perdure/engine_metrics.h");
  const std::regex constant(R"(inline constexpr MetricId k\w+)");
  const auto count = std::distance(std::sregex_iterator(header.begin(), header.end(), constant), {});
  EXPECT_EQ(static_cast<std::size_t>(count), metric::all().size());
}

}  // namespace
}  // namespace perdure
