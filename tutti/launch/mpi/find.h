// Detection of the installed MPI.
#pragma once

#include <functional>
#include <string>

#include "tutti/launch/mpi/launcher.h"

namespace tutti::launch {

struct MpiSearch {
  std::string wanted = "auto";   // name of a launcher, or auto
  std::string built_with = {};   // launcher Tutti was built with; preferred
  std::string path = {};         // PATH
  bool in_slurm = false;         // use srun if nothing else is found
  std::string own_program = {};  // ddlrun, for launcher none
};

// Output of a program for one argument; tests pass their own function.
using Answers = std::function<std::string(const std::string& program, const std::string& argument)>;
std::string ask_program(const std::string& program, const std::string& argument);

// Searches mpirun and mpiexec under the names of all launchers. A program in a system directory is called by its name,
// any other by its path, so other hosts find it too. Throws ConfigError if no MPI, or not the requested one, is found.
Mpi find_mpi(const MpiSearch& search, const Answers& answers = ask_program);

}  // namespace tutti::launch
