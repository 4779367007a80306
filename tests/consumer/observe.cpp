// A user's program with the components for watching it: an endpoint on a port that the system chooses, and a sink that
// wants a logger.
#include <cstdio>
#include <stdexcept>

#include <perdure/prometheus_metrics.h>
#include <perdure/spdlog_sink.h>

int main() {
  const perdure::PrometheusExporter exporter("127.0.0.1:0");
  std::printf("prometheus: %s\n", exporter.port() > 0 ? "listens" : "has no port");
  try {
    const perdure::SpdlogSink sink(nullptr);
  } catch (const std::invalid_argument& error) {
    std::printf("spdlog: %s\n", error.what());
    return 0;
  }
  return 1;
}
