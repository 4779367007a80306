// ChildProcess: the one of clusters, under a short name for the tests.
#pragma once

#include "testing/cluster/child_process.h"

namespace perdure::test {

using testing::cluster::ChildProcess;

}  // namespace perdure::test
