// The stored fields of each kind of message, in order; field_codec.h has the format. Changing one needs a new format
// version.
#pragma once

#include <perdure/message.h>
#include "model/field_codec.h"
#include "model/shared_fields.h"

namespace perdure::detail {

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::StartOrchestration> message) {  // `parent` is in the envelope
  archive.field("name", message.name);
  archive.field("version", message.version);
  archive.field("input", message.input);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::ContinueAsNew> message) {
  archive.field("name", message.name);
  archive.field("version", message.version);
  archive.field("input", message.input);
  archive.group("parent.instance", message.parent);
  archive.list("carry.queue", message.carry_forward);
  archive.field("custom_status", message.initial_custom_status);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::ActivityCompleted> message) {
  archive.field("schedule", message.schedule_id);
  archive.field("result", message.result);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::ActivityFailed> message) {
  archive.field("schedule", message.schedule_id);
  fields(archive, message.error);
  archive.field("progress", message.progress);
  archive.field("attempts", message.attempts);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::TimerFired> message) {
  archive.field("schedule", message.schedule_id);
  archive.field("fire_at", message.fire_at);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::ExternalRaised> message) {
  archive.field("name", message.name);
  archive.field("data", message.data);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::QueueMessage> message) {
  archive.field("queue", message.queue);
  archive.field("data", message.data);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::SubOrchestrationCompleted> message) {
  archive.field("schedule", message.schedule_id);
  archive.field("result", message.result);
  archive.field("parent.incarnation", message.parent_incarnation);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::SubOrchestrationFailed> message) {
  archive.field("schedule", message.schedule_id);
  fields(archive, message.error);
  archive.field("parent.incarnation", message.parent_incarnation);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::CancelInstance> message) {  // `parent` is in the envelope
  archive.field("reason", message.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::TerminateInstance> message) {
  archive.field("reason", message.reason);
}

template <class Archive>
void fields(Archive& archive, Ref<Archive, messages::ExecuteActivity> message) {
  archive.field("schedule", message.schedule_id);
  archive.field("name", message.name);
  archive.field("input", message.input);
  archive.field("session", message.session_id);
  archive.field("tag", message.tag);
  fields(archive, message.timeouts);
  archive.field("orchestration", message.orchestration_name);
  archive.field("orchestration_version", message.orchestration_version);
  archive.field("progress", message.progress);
  archive.group("earlier.first", message.earlier);
  archive.field("incarnation", message.incarnation);
}

}  // namespace perdure::detail
