// The stored fields of each kind of event, in order; field_codec.h has the format. Changing one needs a new format
// version.
#pragma once

#include <perdure/event.h>
#include "model/field_codec.h"
#include "model/shared_fields.h"

namespace perdure::detail {

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::OrchestrationStarted> event) {
  archive.field("name", event.name);
  archive.field("version", event.version);
  archive.field("input", event.input);
  archive.group("parent.instance", event.parent);
  archive.list("carry.queue", event.carry_forward);
  archive.field("custom_status", event.initial_custom_status);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::OrchestrationCompleted> event) {
  archive.field("output", event.output);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::OrchestrationFailed> event) {
  fields(archive, event.error);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::OrchestrationContinuedAsNew> event) {
  archive.field("input", event.input);
  archive.field("version", event.version);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::OrchestrationCancelRequested> event) {
  archive.field("reason", event.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ActivityScheduled> event) {
  archive.field("name", event.name);
  archive.field("input", event.input);
  archive.field("session", event.session_id);
  archive.field("tag", event.tag);
  fields(archive, event.timeouts);
  archive.field("progress", event.progress);
  archive.group("earlier.first", event.earlier);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ActivityCompleted> event) {
  archive.field("source", event.source);
  archive.field("result", event.result);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ActivityFailed> event) {
  archive.field("source", event.source);
  fields(archive, event.error);
  archive.field("progress", event.progress);
  archive.field("attempts", event.attempts);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ActivityCancelRequested> event) {
  archive.field("source", event.source);
  archive.field("reason", event.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::TimerCreated> event) {
  archive.field("fire_at", event.fire_at);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::TimerFired> event) {
  archive.field("source", event.source);
  archive.field("fire_at", event.fire_at);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ExternalSubscribed> event) {
  archive.field("name", event.name);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ExternalEvent> event) {
  archive.field("name", event.name);
  archive.field("data", event.data);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ExternalSubscriptionCancelled> event) {
  archive.field("source", event.source);
  archive.field("reason", event.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::QueueSubscribed> event) {
  archive.field("queue", event.queue);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::QueueEventDelivered> event) {
  archive.field("queue", event.queue);
  archive.field("data", event.data);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::QueueSubscriptionCancelled> event) {
  archive.field("source", event.source);
  archive.field("reason", event.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::SubOrchestrationScheduled> event) {
  archive.field("name", event.name);
  archive.field("instance", event.instance);
  archive.field("input", event.input);
  archive.field("version", event.version);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::SubOrchestrationCompleted> event) {
  archive.field("source", event.source);
  archive.field("result", event.result);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::SubOrchestrationFailed> event) {
  archive.field("source", event.source);
  fields(archive, event.error);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::SubOrchestrationCancelRequested> event) {
  archive.field("source", event.source);
  archive.field("reason", event.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::OrchestrationChained> event) {
  archive.field("name", event.name);
  archive.field("instance", event.instance);
  archive.field("input", event.input);
  archive.field("version", event.version);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::CustomStatusUpdated> event) {
  archive.field("status", event.status);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::KeyValueSet> event) {
  archive.field("key", event.key);
  archive.field("value", event.value);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::KeyValueCleared> event) {
  archive.field("key", event.key);
}

template <class Archive>
void fields(Archive& /*archive*/, Ref<Archive, events::KeyValuesCleared> /*event*/) {}

template <class Archive>
void fields(Archive& archive, Ref<Archive, events::ValueRecorded> event) {
  archive.field("kind", event.kind);
  archive.field("value", event.value);
}

}  // namespace perdure::detail
