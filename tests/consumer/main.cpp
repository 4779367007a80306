// A user's program. It prints the engine's version; run.cmake looks for that in the output.
#include <cstdio>

#include <perdure/version.h>

int main() {
  std::printf("perdure %s\n", perdure::engine_version().to_string().c_str());
}
