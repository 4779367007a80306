// Sessions: activities that belong together run on one node, because something of theirs is there.
//
// Two nodes convert videos in three steps: download, convert, upload. What is downloaded lies on the disk of the node,
// so the other steps must run there too. All steps of a video are in one session, and a session belongs to one node.
// Each node may hold two sessions here, so four videos need both.
//
// It prints:
//   video-1: downloaded, converted and uploaded by ...
//   video-2: downloaded, converted and uploaded by ...
//   video-3: downloaded, converted and uploaded by ...
//   video-4: downloaded, converted and uploaded by ...
//   2 videos each
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

perdure::Orchestration<std::string> convert_video(perdure::OrchestrationContext ctx, std::string video) {
  const auto together = perdure::ActivityOptions().session(video);  // any name will do; new_guid() makes a fresh one
  co_await ctx.schedule_activity<void>("Download", video, together);
  co_await ctx.schedule_activity<void>("Convert", video, together);
  co_return co_await ctx.schedule_activity<std::string>("Upload", video, together);
}

// A machine with a disk of its own.
class Node {
 public:
  Node(const std::shared_ptr<perdure::Provider>& store, std::string name) : name_(std::move(name)) {
    perdure::Registry registry;
    registry.add_orchestration("ConvertVideo", convert_video);
    registry.add_activity("Download", [this](perdure::ActivityContext&, const std::string& video) {
      const std::scoped_lock lock(mutex_);
      disk_.insert_or_assign(video, "downloaded");
    });
    registry.add_activity(
        "Convert", [this](perdure::ActivityContext&, const std::string& video) { file(video) += ", converted"; });
    registry.add_activity("Upload", [this](perdure::ActivityContext&, const std::string& video) {
      return file(video) + " and uploaded by " + name_;
    });
    perdure::RuntimeOptions options;
    options.worker_node_id = name_;
    options.max_sessions_per_runtime = 2;
    runtime_ = std::make_unique<perdure::Runtime>(store, registry, options);
  }

  [[nodiscard]] std::size_t videos() const {
    const std::scoped_lock lock(mutex_);
    return disk_.size();
  }

 private:
  // Throws if it is on another node's disk.
  std::string& file(const std::string& video) {
    const std::scoped_lock lock(mutex_);
    const auto found = disk_.find(video);
    if (found == disk_.end()) throw perdure::NonRetryableError(video + " is not on the disk of " + name_);
    return found->second;
  }

  std::string name_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> disk_;
  std::unique_ptr<perdure::Runtime> runtime_;  // the last member: it ends before what its activities use
};

int run() {
  const auto store = perdure::make_memory_provider();
  const Node first(store, "node A");
  const Node second(store, "node B");
  const perdure::Client client(store);
  const std::set<std::string> videos = {"video-1", "video-2", "video-3", "video-4"};
  for (const auto& video : videos) client.start_orchestration(video, "ConvertVideo", video);
  for (const auto& video : videos) {
    const auto result = client.wait_for_orchestration(video, 30s).result<std::string>();
    std::printf("%s: %s\n", video.c_str(), result.c_str());
  }
  if (first.videos() != 2 || second.videos() != 2) {
    throw std::runtime_error("node A has had " + std::to_string(first.videos()) + " videos and node B " +
                             std::to_string(second.videos()));
  }
  std::printf("2 videos each\n");
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sessions: %s\n", error.what());
    return 1;
  }
}
