// The endpoint: prometheus-cpp's exposer with the registry behind it.
#include <stdexcept>
#include <utility>

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <perdure/prometheus_metrics.h>

namespace perdure {

struct PrometheusExporter::Server {
  Server(const std::string& address, std::shared_ptr<const InMemoryMetrics> metrics)
      : collectable(make_prometheus_collectable(std::move(metrics))), exposer(address) {
    exposer.RegisterCollectable(collectable);
  }

  std::shared_ptr<prometheus::Collectable> collectable;  // longer than who serves it
  prometheus::Exposer exposer;
};

PrometheusExporter::PrometheusExporter(const std::string& address)
    : PrometheusExporter(address, std::make_shared<InMemoryMetrics>()) {}

PrometheusExporter::PrometheusExporter(const std::string& address, std::shared_ptr<InMemoryMetrics> registry)
    : registry_(std::move(registry)) {
  if (!registry_) throw std::invalid_argument("a PrometheusExporter needs a registry, not a null pointer");
  try {
    server_ = std::make_unique<Server>(address, registry_);
    port_ = static_cast<std::uint16_t>(server_->exposer.GetListeningPorts().at(0));
  } catch (const std::exception& error) {
    throw std::runtime_error("the metrics cannot be served at '" + address + "' (" + error.what() +
                             "); check that it is \"host:port\" with a host of this machine and a port that no other "
                             "program uses, or use port 0 for a free one");
  }
}

PrometheusExporter::~PrometheusExporter() = default;

}  // namespace perdure
