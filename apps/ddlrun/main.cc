// ddlrun: starts a job on one or many hosts.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "tutti/comm/options.h"
#include "tutti/launch/agent/agent.h"
#include "tutti/launch/cli/command_line.h"
#include "tutti/launch/cli/launch.h"
#include "tutti/launch/cli/options.h"
#include "tutti/launch/probe/session.h"
#include "tutti/plan/mode.h"

namespace {

using Args = std::vector<std::string>;

// Hides the arguments, so tools that search processes by command line do not find the agent instead of the program.
void hide_arguments(int argc, char** argv) {
  char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]);
  const auto room = static_cast<std::size_t>(end - argv[0]);
  std::memset(argv[0], 0, room);
  std::snprintf(argv[0], room, "ddlrun --agent");
}

// Opens missing standard files, so a file that is opened later does not become standard output.
void open_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // the lowest free number
  }
}

void check_ddl_options(const std::string& text) {
  tutti::Options options(tutti::comm::comm_options());
  tutti::comm::apply_option_string(options, text, "ddlrun");
  tutti::plan::parse_mode(options.text("mode"));
}

// Runs the internal commands that ddlrun starts on hosts and for ranks.
int run_internal(const Args& arguments, int argc, char** argv) {
  if (arguments[0] == "--serve") {
    tutti::launch::serve(std::cin, std::cout, TUTTI_VERSION);
    return 0;
  }
  if (arguments[0] == "--agent") {
    hide_arguments(argc, argv);
    return tutti::launch::run_agent({arguments.begin() + 1, arguments.end()});
  }
  const int count = arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : 0;
  return tutti::launch::start_here(
      count, {arguments.begin() + std::min<long>(2, static_cast<long>(arguments.size())),
              arguments.end()});
}

int run(const Args& arguments) {
  const tutti::launch::CommandLine line = tutti::launch::parse_command_line(arguments);
  const tutti::Options& options = line.options;
  if (options.flag("version")) {
    fmt::print("ddlrun {}\n", TUTTI_VERSION);
    return 0;
  }
  const bool wants_page = !options.is_default("print");
  if (options.flag("help") || wants_page) {
    fmt::print("{}",
               tutti::launch::page(wants_page ? options.text("print") : "help", TUTTI_VERSION));
    return 0;
  }
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  return tutti::launch::launch(line,
                               {program, TUTTI_VERSION, TUTTI_MPI_FLAVOUR, check_ddl_options});
}

}  // namespace

int main(int argc, char** argv) try {
  open_standard_files();
  const Args arguments(argv + 1, argv + argc);
  const bool is_internal =
      !arguments.empty() &&
      (arguments[0] == "--serve" || arguments[0] == "--agent" || arguments[0] == "--start-here");
  return is_internal ? run_internal(arguments, argc, argv) : run(arguments);
} catch (const std::exception& error) {
  std::fflush(stdout);
  fmt::print(stderr, "ddlrun: {}\n", error.what());
  return 2;
}
