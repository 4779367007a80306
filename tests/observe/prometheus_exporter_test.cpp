// The endpoint for Prometheus, as a scraper sees it.
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/prometheus_metrics.h>

namespace perdure {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The whole answer to GET /metrics, head included.
std::string scrape(std::uint16_t port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0) throw std::runtime_error("no socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  std::string answer;
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::send(connection, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size())) {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(connection, buffer.data(), buffer.size(), 0);
      if (got > 0) answer.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
  ::close(connection);
  return answer;
}

TEST(PrometheusExporterTest, ServesWhatARuntimeCounts) {
  const PrometheusExporter exporter("127.0.0.1:0");
  Registry registry;
  registry.add_orchestration("Greet", [](OrchestrationContext ctx, std::string name) -> Orchestration<std::string> {
    co_return co_await ctx.schedule_activity<std::string>("Hello", name);
  });
  registry.add_activity("Hello", [](ActivityContext&, const std::string& name) { return "hello " + name; });
  const auto store = make_memory_provider();
  RuntimeOptions options;
  options.metrics = exporter.metrics();
  Runtime runtime(store, registry, options);
  const Client client(store, {.limits = {}, .logger = {}, .metrics = exporter.metrics()});
  client.start_orchestration("i", "Greet", "canary-77");
  ASSERT_EQ(client.wait_for_orchestration("i", 60s).result<std::string>(), "hello canary-77");
  runtime.shutdown();

  const std::string answer = scrape(exporter.port());
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Type: text/plain"));
  EXPECT_THAT(answer,
              AllOf(HasSubstr("# TYPE perdure_orchestration_starts_total counter\n"
                              "perdure_orchestration_starts_total{initiated_by=\"client\",orchestration_name=\"Greet\","
                              "version=\"1.0.0\"} 1"),
                    HasSubstr("perdure_activity_duration_seconds_bucket{activity_name=\"Hello\",outcome=\"success\","
                              "tag=\"default\",le=\"+Inf\"} 1"),
                    HasSubstr("# TYPE perdure_active_orchestrations gauge\n"),
                    HasSubstr("perdure_client_orchestration_starts_total{outcome=\"started\"} 1")));
  EXPECT_THAT(answer, Not(HasSubstr("canary")));
}

TEST(PrometheusExporterTest, AnAddressThatIsTakenIsNamed) {
  const PrometheusExporter first("127.0.0.1:0");
  const std::string taken = "127.0.0.1:" + std::to_string(first.port());
  try {
    const PrometheusExporter second(taken);
    ADD_FAILURE() << "two listen on " << taken;
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'" + taken + "'"), HasSubstr("port 0")));
  }
}

TEST(PrometheusExporterTest, AnAddressThatMakesNoSenseIsNamed) {
  for (const std::string address : {"nonsense", "", "127.0.0.1:99999"}) {
    try {
      const PrometheusExporter exporter(address);
      ADD_FAILURE() << "listens on '" << address << "'";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("'" + address + "'"));
    }
  }
}

TEST(PrometheusExporterTest, TheEndpointGoesAndTheMetricsStay) {
  const auto registry = std::make_shared<InMemoryMetrics>();
  Metrics metrics;
  std::uint16_t port = 0;
  {
    const PrometheusExporter exporter("127.0.0.1:0", registry);
    metrics = exporter.metrics();
    port = exporter.port();
    metrics.add(metric::kActivityPoison);
    EXPECT_THAT(scrape(port), HasSubstr("perdure_activity_poison_total 1"));
  }
  metrics.add(metric::kActivityPoison);
  EXPECT_EQ(registry->counter_total(metric::kActivityPoison.name), 2U);
  EXPECT_EQ(scrape(port), "");
  EXPECT_THROW(PrometheusExporter("127.0.0.1:0", nullptr), std::invalid_argument);
}

TEST(PrometheusCollectableTest, HandsOverEveryType) {
  const auto metrics = std::make_shared<InMemoryMetrics>();
  metrics->counter(metric::kUnregisteredBackoff, {{"kind", "activity"}}).add(3);
  metrics->gauge(metric::kWorkerQueueDepth).set(1.5);
  constexpr std::array bounds{1.0, 2.0};
  Histogram& histogram = metrics->histogram({"sizes", MetricType::kHistogram, "Sizes.", bounds});
  for (const double value : {0.5, 1.5, 1.5, 9.0}) histogram.observe(value);

  const auto families = make_prometheus_collectable(metrics)->Collect();
  ASSERT_EQ(families.size(), 3U);
  EXPECT_EQ(families[0].name, "perdure_unregistered_backoff_total");
  EXPECT_EQ(families[0].type, prometheus::MetricType::Counter);
  EXPECT_EQ(families[0].metric.at(0).counter.value, 3.0);
  EXPECT_EQ(families[0].metric.at(0).label.at(0).name, "kind");
  EXPECT_EQ(families[0].metric.at(0).label.at(0).value, "activity");
  EXPECT_EQ(families[1].metric.at(0).gauge.value, 1.5);
  EXPECT_EQ(families[2].help, "Sizes.");
  const auto& sizes = families[2].metric.at(0).histogram;
  EXPECT_EQ(sizes.sample_count, 4U);
  EXPECT_EQ(sizes.sample_sum, 12.5);
  ASSERT_EQ(sizes.bucket.size(), 3U);
  EXPECT_EQ(sizes.bucket[0].cumulative_count, 1U);
  EXPECT_EQ(sizes.bucket[1].cumulative_count, 3U);
  EXPECT_EQ(sizes.bucket[2].cumulative_count, 4U);
  EXPECT_EQ(sizes.bucket[2].upper_bound, std::numeric_limits<double>::infinity());
  EXPECT_THROW(static_cast<void>(make_prometheus_collectable(nullptr)), std::invalid_argument);
}

}  // namespace
}  // namespace perdure
