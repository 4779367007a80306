// Watching a program: one line switches metrics on, one more the log. Prints part of what Prometheus would scrape.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <perdure/perdure.h>
#include <perdure/prometheus_metrics.h>

using namespace std::chrono_literals;

namespace {

perdure::Orchestration<int> sum(perdure::OrchestrationContext ctx, int numbers) {
  int total = 0;
  for (int i = 1; i <= numbers; ++i) total += co_await ctx.schedule_activity<int>("Square", i);
  co_return total;
}

}  // namespace

int main() {
  perdure::Registry registry;
  registry.add_orchestration("Sum", sum);
  registry.add_activity("Square", [](perdure::ActivityContext&, int number) { return number * number; });

  perdure::RuntimeOptions options;
  const perdure::PrometheusExporter exporter("127.0.0.1:0");  // a real program says which port
  options.metrics = exporter.metrics();
  options.logger = perdure::Logger(std::make_shared<perdure::StderrLogSink>(
      perdure::StderrLogOptions().format(perdure::LogFormat::kJson).minimum_level(perdure::LogLevel::kInfo)));

  const auto store = perdure::make_memory_provider();
  perdure::Runtime runtime(store, registry, options);
  const perdure::Client client(store);
  client.start_orchestration("sum-1", "Sum", 3);
  const int total = client.wait_for_orchestration("sum-1", 30s).result<int>();
  runtime.shutdown();
  std::cout << "the sum is " << total << "; from http://127.0.0.1:" << exporter.port() << "/metrics:\n";

  // What the endpoint answers, without going through HTTP.
  int shown = 0;
  std::istringstream lines(exporter.registry()->prometheus_text());
  for (std::string line; std::getline(lines, line);) {
    const bool interesting = line.starts_with("perdure_orchestration_completions_total") ||
                             line.starts_with("perdure_activity_executions_total") ||
                             line.starts_with("perdure_cache_hits_total");
    if (!interesting) continue;
    std::cout << "  " << line << '\n';
    ++shown;
  }
  return total == 14 && shown == 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
