// Fan out, fan in: one activity for each part of a job, many at a time, and one result.
//
// The job is an album of pictures, each of which is measured by an activity of its own. `join` waits for all of them.
// One failure fails the job, unless each part is asked for its result.
//
// It prints:
//   album-1: 12 pictures, 780 kB
//   album-2: failed, activity 'Measure' failed: picture 13 cannot be read
//   album-3: 19 of 20 pictures, 1970 kB; picture 13 cannot be read
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

// All are scheduled before the first is awaited: that is what makes them run side by side.
std::vector<perdure::Future<int>> measure_each(perdure::OrchestrationContext ctx, int pictures) {
  std::vector<perdure::Future<int>> sizes;
  sizes.reserve(static_cast<std::size_t>(pictures));
  for (int picture = 1; picture <= pictures; ++picture) {
    sizes.push_back(ctx.schedule_activity<int>("Measure", picture));
  }
  return sizes;
}

std::string kilobytes(int size) {
  return std::to_string(size) + " kB";
}

// All or nothing: when one failed, co_await throws once all have ended.
perdure::Orchestration<std::string> whole_album(perdure::OrchestrationContext ctx, int pictures) {
  const auto sizes = co_await ctx.join(measure_each(ctx, pictures));
  int total = 0;
  for (const int size : sizes) total += size;
  co_return std::to_string(pictures) + " pictures, " + kilobytes(total);
}

// As many as there are.
perdure::Orchestration<std::string> readable_pictures(perdure::OrchestrationContext ctx, int pictures) {
  const auto sizes = co_await ctx.join(measure_each(ctx, pictures)).as_result();
  int total = 0;
  int read = 0;
  std::string problems;
  for (const auto& size : sizes) {
    if (size) {
      total += *size;
      ++read;
    } else {
      problems += "; " + size.error().message();
    }
  }
  co_return std::to_string(read) + " of " + std::to_string(pictures) + " pictures, " + kilobytes(total) + problems;
}

int measure(perdure::ActivityContext&, int picture) {
  if (picture == 13) throw std::runtime_error("picture 13 cannot be read");
  return 10 * picture;
}

std::string outcome(const perdure::OrchestrationStatus& status) {
  if (status.completed()) return status.result<std::string>();
  return "failed, " + status.error_text();
}

int run() {
  perdure::Registry registry;
  registry.add_orchestration("WholeAlbum", whole_album);
  registry.add_orchestration("ReadablePictures", readable_pictures);
  registry.add_activity("Measure", measure);

  const auto store = perdure::make_memory_provider();
  perdure::RuntimeOptions options;
  options.worker_concurrency = 4;  // activities that run at the same time; more runtimes on the store add theirs
  const perdure::Runtime runtime(store, registry, options);
  const perdure::Client client(store);
  client.start_orchestration("album-1", "WholeAlbum", 12);
  client.start_orchestration("album-2", "WholeAlbum", 20);
  client.start_orchestration("album-3", "ReadablePictures", 20);

  const std::vector<std::pair<std::string, std::string>> expected = {
      {"album-1", "12 pictures, 780 kB"},
      {"album-2", "failed, activity 'Measure' failed: picture 13 cannot be read"},
      {"album-3", "19 of 20 pictures, 1970 kB; picture 13 cannot be read"},
  };
  bool right = true;
  for (const auto& [album, wanted] : expected) {
    const std::string got = outcome(client.wait_for_orchestration(album, 30s));
    std::printf("%s: %s\n", album.c_str(), got.c_str());
    right = right && got == wanted;
  }
  if (!right) throw std::runtime_error("that is not what the albums should be");
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fan_out: %s\n", error.what());
    return 1;
  }
}
