// Which MPI is here.
#pragma once

#include <functional>
#include <string>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {

struct MpiSearch {
  std::string wanted = "auto";   // a launcher, or auto
  std::string built_with = {};   // the launcher that Tutti was built with; it is preferred
  std::string path = {};         // PATH
  bool in_slurm = false;         // where nothing else is found, srun will do
  std::string own_program = {};  // ddlrun, for launcher none
};

// What a program prints for one argument; tests pass their own.
using Answers = std::function<std::string(const std::string& program, const std::string& argument)>;
std::string ask_program(const std::string& program, const std::string& argument);

// Looks for mpirun and mpiexec under the names of all launchers; a program in a system folder is
// called by its name, another by its path, so that other hosts find it too. Throws ConfigError when
// there is none, or not the wanted one.
Mpi find_mpi(const MpiSearch& search, const Answers& answers = ask_program);

}  // namespace tutti::launch
