// TraceLog: what an orchestration traces goes to the log, with its name and place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <perdure/fetch.h>
#include <perdure/log.h>
#include "replay/turn.h"

namespace perdure::runtime {

class TraceLog final : public TraceSink {
 public:
  TraceLog(const Logger& logger, const OrchestrationItem& item, ExecutionId execution, std::string name,
           const std::optional<SemanticVersion>& version, const std::string& node)
      : logger_(logger),
        item_(item),
        execution_(std::to_string(execution)),
        name_(std::move(name)),
        version_(version ? version->to_string() : ""),
        node_(node) {}

  void trace(LogLevel level, std::string_view message) noexcept override {
    logger_.log(level, message,
                {{"instance_id", item_.instance},
                 {"execution_id", execution_},
                 {"orchestration_name", name_},
                 {"orchestration_version", version_},
                 {"worker_id", node_}});
  }

 private:
  const Logger& logger_;
  const OrchestrationItem& item_;
  std::string execution_;
  std::string name_;
  std::string version_;
  const std::string& node_;
};

}  // namespace perdure::runtime
