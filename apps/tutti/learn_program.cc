#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "apps/tutti/command.h"
#include "tutti/core/error.h"
#include "tutti/os/environment.h"

namespace tutti::app {

int run_in_learn_program(int argc, char** argv) {
  std::string program = os::prefix() / "bin/tutti-learn";
  std::vector<char*> arguments = {program.data()};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  throw ConfigError("DDL-8-51", fmt::format("`{}` needs the program {}, which cannot be started: "
                                            "{}. Build it with `make build`.",
                                            argv[0], program, std::strerror(errno)));
}

}  // namespace tutti::app
