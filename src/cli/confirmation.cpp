#include "cli/confirmation.h"

namespace perdure::cli {

bool is_confirmed(const Context& context, bool yes, const std::string& deed) {
  if (yes) return true;
  if (!context.asks || context.in == nullptr || context.json) {
    throw CommandError(
        kUsage, "this would " + deed + ", which needs confirmation; pass --yes to confirm or --dry-run to preview");
  }
  context.err << "This will " << deed << ". Continue? [y/N] " << std::flush;
  std::string answer;
  std::getline(*context.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace perdure::cli
