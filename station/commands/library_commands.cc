#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/utf8.h"
#include "station/commands/commands.h"
#include "station/config/library.h"
#include "station/config/profile.h"

namespace assay::station {
namespace {

// What differs between boards and plans.
struct Kind {
  const char* command;  // "boards"
  const char* thing;    // "board"
  const char* help;
  std::vector<std::string> (*files)(const Library&);
  Result<std::string> (*title)(const LocatedJson&);
};

std::vector<std::string> board_files(const Library& library) {
  return library.board_files();
}
std::vector<std::string> plan_files(const Library& library) {
  return library.plan_files();
}

Result<std::string> board_title(const LocatedJson& file) {
  const auto board = parse_profile(file);
  if (!board) return std::unexpected(board.error());
  return board->name;
}

Result<std::string> plan_title(const LocatedJson& file) {
  const auto plan = parse_plan(file);
  if (!plan) return std::unexpected(plan.error());
  return fmt::format("{} ({} steps)", plan->name, plan->steps.size());
}

Result<std::string> title_of(const Kind& kind, const std::string& path) {
  const auto file = LocatedJson::read(path);
  if (!file) return std::unexpected(file.error());
  return kind.title(*file);
}

Result<int> list(const Kind& kind) {
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  int code = 0;
  for (const std::string& path : kind.files(*library)) {
    const auto title = title_of(kind, path);
    if (title) {
      fmt::print("{:<16} {}\n", stem(path), to_printable(*title));
    } else {
      code = report_error(title.error());
    }
  }
  return code;
}

Result<int> show(const Kind& kind, const std::string& name) {
  const auto library = Library::open();
  if (!library) return std::unexpected(library.error());
  std::string known;
  for (const std::string& path : kind.files(*library)) {
    known += (known.empty() ? "" : ", ") + stem(path);
    if (stem(path) != name) continue;
    const auto file = LocatedJson::read(path);
    if (!file) return std::unexpected(file.error());
    fmt::print("{}", file->text());
    return 0;
  }
  return fail(ErrorKind::usage, fmt::format("no {} \"{}\"", kind.thing, name), {},
              "there are: " + known);
}

Result<int> validate(const Kind& kind, const std::vector<std::string>& paths) {
  int code = 0;
  for (const std::string& path : paths) {
    const auto title = title_of(kind, path);
    if (title) {
      fmt::print("{}: valid, {}\n", path, to_printable(*title));
    } else {
      code = report_error(title.error());
    }
  }
  return code;
}

void add(CLI::App& app, Invocation& invocation, const Kind& kind) {
  CLI::App* command = app.add_subcommand(kind.command, kind.help);
  command->require_subcommand(1);
  const auto finish = [&invocation](const Result<int>& code) {
    invocation.exit_code = code ? *code : report_error(code.error());
  };
  command->add_subcommand("list", "list them")->callback([kind, finish] { finish(list(kind)); });
  auto name = std::make_shared<std::string>();
  CLI::App* shown = command->add_subcommand("show", "print one");
  shown->add_option("name", *name, "its id")->required();
  shown->callback([kind, name, finish] { finish(show(kind, *name)); });
  auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* validated = command->add_subcommand("validate", "check files");
  validated->add_option("files", *paths, "JSON files")->required();
  validated->callback([kind, paths, finish] { finish(validate(kind, *paths)); });
  command->footer(fmt::format("Examples:\n  assay {0} list\n  assay {0} validate my-{1}.json\n",
                              kind.command, kind.thing));
}

}  // namespace

void add_library_commands(CLI::App& app, Invocation& invocation) {
  add(app, invocation,
      {"boards", "board", "board profiles: list, show, validate", board_files, board_title});
  add(app, invocation,
      {"plans", "plan", "test plans: list, show, validate", plan_files, plan_title});
}

}  // namespace assay::station
