// Everything that a program with workflows needs. Types that go through nlohmann-json need <perdure/json.h> as well.
#pragma once

#include <perdure/activity.h>
#include <perdure/codec.h>
#include <perdure/combinators.h>
#include <perdure/context.h>
#include <perdure/error.h>
#include <perdure/event.h>
#include <perdure/future.h>
#include <perdure/log.h>
#include <perdure/memory_provider.h>
#include <perdure/message.h>
#include <perdure/metrics.h>
#include <perdure/options.h>
#include <perdure/orchestration.h>
#include <perdure/registry.h>
#include <perdure/result.h>
#include <perdure/retry.h>
#include <perdure/saga.h>
#include <perdure/sqlite_provider.h>
#include <perdure/task.h>
#include <perdure/types.h>
#include <perdure/version.h>
