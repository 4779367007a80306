// completion
#include <memory>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/instance_views.h"

namespace perdure::cli {

namespace {

// What a shell can offer, read off the program itself so that it cannot fall behind it.
struct OfferedOption {
  std::vector<std::string> names;  // "--limit", "-h"; none: an argument without a name
  std::string description;
  bool takes_value = false;
  std::vector<std::string> values;  // if only some make sense
};

struct OfferedCommand {
  std::string name;
  std::string description;
  std::vector<OfferedOption> options;
};

// CLI11 tells what CLI::IsMember admits only in its help text: "TEXT:{on,off}".
std::vector<std::string> admitted_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto begin = type.find('{');
  const auto end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::vector<OfferedOption> options_of(const CLI::App& command) {
  std::vector<OfferedOption> options;
  const auto all = command.get_options();
  options.reserve(all.size());
  for (const CLI::Option* option : all) {
    if (option->get_group().empty()) continue;  // hidden
    OfferedOption offered;
    for (const std::string& name : option->get_lnames()) offered.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) offered.names.push_back("-" + name);
    offered.description = option->get_description();
    offered.takes_value = option->get_items_expected_max() > 0;
    offered.values = admitted_values(*option);
    options.push_back(std::move(offered));
  }
  return options;
}

std::vector<OfferedCommand> commands_of(const CLI::App& program) {
  const auto all = program.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  std::vector<OfferedCommand> commands;
  commands.reserve(all.size());
  for (const CLI::App* command : all) {
    commands.push_back({command->get_name(), command->get_description(), options_of(*command)});
  }
  return commands;
}

std::string with_spaces(const std::vector<std::string>& words) {
  return CLI::detail::join(words, " ");
}

// In single quotes, as all three shells read them.
std::string shell_quoted(const std::string& text, std::string_view quote_inside) {
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += quote_inside : quoted += c;
  return quoted + "'";
}

constexpr std::string_view kPosixQuote = R"('\'')";
constexpr std::string_view kFishQuote = R"(\')";

std::string bash_script(const std::vector<OfferedCommand>& commands) {
  std::string names;
  std::string words;
  std::string values;
  for (const OfferedCommand& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::vector<std::string> offered;
    for (const OfferedOption& option : command.options) {
      offered.insert(offered.end(), option.names.begin(), option.names.end());
      if (option.names.empty()) offered.insert(offered.end(), option.values.begin(), option.values.end());
      for (const std::string& name : option.names) {
        if (!option.takes_value) continue;
        values += "    '" + command.name + ' ' + name + "') words='" + with_spaces(option.values) + "' ;;\n";
      }
    }
    words += "        " + command.name + ") words='" + with_spaces(offered) + "' ;;\n";
  }
  return R"(# bash completion for perdure: source it, or put it where bash-completion looks.
_perdure() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' word words=''
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word != -* ]]; then command=$word; break; fi
  done
  COMPREPLY=()
  case "$command $previous" in
)" + values +
         R"(    *)
      case $command in
        '') words=')" +
         names + R"( --help --help-all' ;;
)" + words +
         R"(      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _perdure perdure
)";
}

// As _arguments wants it: '--limit[Instances of a page]:value:(a b)'.
std::string zsh_argument(const OfferedOption& option, const std::string& name) {
  std::string description;
  for (const char c : option.description) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') description += '\\';
    description += c;
  }
  std::string value;
  if (option.takes_value) {
    value = ":value:" + (option.values.empty() ? std::string("_files") : '(' + with_spaces(option.values) + ')');
  }
  if (name.empty()) return shell_quoted("*" + value, kPosixQuote);
  return shell_quoted(name + '[' + description + ']' + value, kPosixQuote);
}

std::string zsh_script(const std::vector<OfferedCommand>& commands) {
  std::string described;
  std::string cases;
  for (const OfferedCommand& command : commands) {
    described += "    " + shell_quoted(command.name + ':' + command.description, kPosixQuote) + '\n';
    cases += "    " + command.name + ")\n      _arguments";
    bool anything = false;
    for (const OfferedOption& option : command.options) {
      for (const std::string& name : option.names) cases += " \\\n        " + zsh_argument(option, name);
      if (!option.names.empty() || anything) continue;
      cases += " \\\n        " + zsh_argument(option, "");
      anything = true;  // one pattern stands for all arguments without a name
    }
    cases += "\n      ;;\n";
  }
  return R"(#compdef perdure
# zsh completion for perdure: source it, or save it as _perdure in a folder of fpath.
_perdure() {
  local -a commands
  commands=(
)" + described +
         R"(  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
)" + cases +
         R"(  esac
}
if [[ $funcstack[1] == _perdure ]]; then
  _perdure "$@"
else
  compdef _perdure perdure
fi
)";
}

std::string fish_script(const std::vector<OfferedCommand>& commands) {
  std::string text = "# fish completion for perdure: source it, or save it as completions/perdure.fish.\n";
  for (const OfferedCommand& command : commands) {
    text += "complete -c perdure -n __fish_use_subcommand -f -a " + command.name + " -d " +
            shell_quoted(command.description, kFishQuote) + '\n';
    const std::string seen = "complete -c perdure -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OfferedOption& option : command.options) {
      std::string line = seen;
      for (const std::string& name : option.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.values.empty()) {
        line += std::string(option.names.empty() ? " -f" : " -x") + " -a '" + with_spaces(option.values) + "'";
      } else if (option.names.empty()) {
        continue;  // nobody can guess it
      } else if (option.takes_value) {
        line += " -r";
      }
      text += line + " -d " + shell_quoted(option.description, kFishQuote) + '\n';
    }
  }
  return text;
}

int print_completion(const Context& context, const CLI::App& program, const std::string& shell) {
  const auto commands = commands_of(program);
  const std::string script = shell == "bash"  ? bash_script(commands)
                             : shell == "zsh" ? zsh_script(commands)
                                              : fish_script(commands);
  if (context.json) {
    print_json(context, {{"shell", shell}, {"script", script}});
  } else {
    context.out << script;
  }
  return kSuccess;
}

}  // namespace

void add_completion_command(CLI::App& program, Context& context) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command =
      add_command(program, context, "completion", "Print a shell script that completes commands and options",
                  [&context, &program, shell] { return print_completion(context, program, *shell); });
  command.add_option("shell", *shell, "Shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

}  // namespace perdure::cli
