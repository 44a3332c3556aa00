// Table of the programs that start ranks: their detection and their command lines. To add one, add its file, its row in
// table.cc and its golden file in testdata.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/launch/hosts/hosts.h"

namespace tutti::launch {

using Args = std::vector<std::string>;

// Input for a launcher's command line.
struct Start {
  int ranks = 1;
  std::vector<Host> hosts = {};         // slots: ranks on each host
  std::vector<std::string> order = {};  // host of each rank
  bool is_even = true;                  // all hosts have the same number of ranks
  bool is_here = true;                  // the only host is this one
  std::string user = {};                // user for ssh; empty: the current one
  std::string rankfile = {};            // path
  bool is_pinned = true;                // no two ranks share a core
  bool is_root = false;
  bool has_accelerators = false;
  bool tcp = false;
  std::string network = {};               // 192.0.2.0/24, between hosts; empty: MPI chooses
  std::string interface = {};             // the interface of that network on the first host
  std::vector<std::string> exports = {};  // names of variables; values are in the environment
  Args mpi_arguments = {};                // from the user
  Args program = {};                      // the program and its arguments
};

struct Launcher;

struct Mpi {
  const Launcher* launcher = nullptr;
  std::string version = {};  // 4.1.4
  std::string program = {};  // name or path: mpirun, /opt/openmpi/bin/mpirun
  std::string plugin = {};   // srun: pmix, pmi2

  int major() const;
  std::string title() const;  // "Open MPI 4.1.4"
};

struct Launcher {
  std::string name;   // value of --mpi
  std::string title;  // human-readable
  bool pins_ranks;    // false: the ranks pin themselves
  bool crosses_hosts;
  Args (*command)(const Mpi& mpi, const Start& start);
};

const std::vector<Launcher>& launchers();
const Launcher& launcher_named(std::string_view name);

// Identifies the program that printed `text` for `--version`; nullopt if it is not a known launcher.
std::optional<Mpi> recognise(std::string_view text);

// Command lines of the launchers, one source file each.
Args open_mpi_command(const Mpi& mpi, const Start& start);
Args spectrum_command(const Mpi& mpi, const Start& start);
Args mpich_command(const Mpi& mpi, const Start& start);
Args srun_command(const Mpi& mpi, const Start& start);
Args direct_command(const Mpi& mpi, const Start& start);

// "host1:4,host2:4"
std::string hosts_with_slots(const Start& start);
// Appends the user's MPI arguments and then the program with its arguments.
Args with_program(Args arguments, const Start& start);

}  // namespace tutti::launch
