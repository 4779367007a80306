// The stored fields of the structs that both events and messages contain; field_codec.h has the format.
#pragma once

#include <variant>

#include <perdure/error_details.h>
#include <perdure/event.h>
#include "model/field_codec.h"
#include "model/names.h"

namespace perdure::detail {

template <class Archive>
void fields(Archive& archive, Ref<Archive, ParentLink> parent) {
  archive.field("parent.instance", parent.instance);
  archive.field("parent.execution", parent.execution_id);
  archive.field("parent.schedule", parent.schedule_id);
  archive.field("parent.incarnation", parent.incarnation);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, CarriedMessage> carried) {
  archive.field("carry.queue", carried.queue);
  archive.field("carry.data", carried.data);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, ActivityTimeouts> timeouts) {
  archive.field("timeout.start_to_close", timeouts.start_to_close);
  archive.field("timeout.schedule_to_start", timeouts.schedule_to_start);
  archive.field("timeout.heartbeat", timeouts.heartbeat);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, EarlierAttempts> earlier) {
  archive.field("earlier.first", earlier.first);
  archive.field("earlier.count", earlier.count);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, InfrastructureError> error) {
  archive.field("error.operation", error.operation);
  archive.field("error.message", error.message);
  archive.field("error.retryable", error.retryable);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, ConfigurationError> error) {
  archive.field("error.kind", error.kind);
  archive.field("error.resource", error.resource);
  archive.field("error.message", error.message);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, ApplicationError> error) {
  archive.field("error.kind", error.kind);
  archive.field("error.message", error.message);
  archive.field("error.retryable", error.retryable);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, PoisonError> error) {
  archive.field("error.subject", error.subject);
  archive.field("error.instance", error.instance);
  archive.field("error.execution", error.execution_id);
  archive.field("error.activity", error.activity_name);
  archive.field("error.activity_id", error.activity_id);
  archive.field("error.attempts", error.attempts);
  archive.field("error.max_attempts", error.max_attempts);
  archive.field("error.message", error.message);
}

// The category says which of the four follows.
template <class Archive>
void fields(Archive& archive, Ref<Archive, ErrorDetails> error) {
  archive.alternative("error.category", kErrorCategories, error);
}

}  // namespace perdure::detail
