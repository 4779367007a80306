#include "cli/confirmation.h"

namespace perdure::cli {

bool is_confirmed(const Context& context, bool yes, const std::string& deed) {
  if (yes) return true;
  if (!context.asks || context.in == nullptr || context.json) {
    throw CommandError(kUsage, "this would " + deed +
                                   ", and nobody can be asked: add --yes to do it, or --dry-run to "
                                   "see what it would be");
  }
  context.err << "This will " << deed << ". Go on? [y/N] " << std::flush;
  std::string answer;
  std::getline(*context.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace perdure::cli
