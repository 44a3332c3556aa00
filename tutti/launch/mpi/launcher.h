// The programs that start ranks, one row each: how to know them, and the command line they want.
// Adding one: its file, its row in table.cc, its golden file in testdata.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/launch/hosts/hosts.h"

namespace tutti::launch {

using Args = std::vector<std::string>;

// Everything that a command line is made from.
struct Start {
  int ranks = 1;
  std::vector<Host> hosts = {};         // slots: ranks on each
  std::vector<std::string> order = {};  // the host of each rank
  bool is_even = true;                  // all hosts have the same number of ranks
  bool is_here = true;                  // the only host is this one
  std::string user = {};                // to log in as by ssh; empty: the current one
  std::string rankfile = {};            // path
  bool is_pinned = true;                // no two ranks share a core
  bool is_root = false;
  bool has_accelerators = false;
  bool tcp = false;
  std::string network = {};               // 192.0.2.0/24, between hosts; empty: MPI chooses
  std::string interface = {};             // the same as a device of the first host
  std::vector<std::string> exports = {};  // names of variables; their values are in our environment
  Args mpi_arguments = {};                // the user's
  Args program = {};                      // and its arguments
};

struct Launcher;

struct Mpi {
  const Launcher* launcher = nullptr;
  std::string version = {};  // 4.1.4
  std::string program = {};  // as it is called: mpirun, /opt/openmpi/bin/mpirun
  std::string plugin = {};   // srun: pmix, pmi2

  int major() const;
  std::string title() const;  // "Open MPI 4.1.4"
};

struct Launcher {
  std::string name;   // as in --mpi
  std::string title;  // for people
  bool pins_ranks;    // by itself; else ranks pin themselves
  bool crosses_hosts;
  Args (*command)(const Mpi& mpi, const Start& start);
};

const std::vector<Launcher>& launchers();
const Launcher& launcher_named(std::string_view name);

// What a program that answered `--version` with `text` is; nothing when it is none of ours.
std::optional<Mpi> recognise(std::string_view text);

// One file each.
Args open_mpi_command(const Mpi& mpi, const Start& start);
Args spectrum_command(const Mpi& mpi, const Start& start);
Args mpich_command(const Mpi& mpi, const Start& start);
Args srun_command(const Mpi& mpi, const Start& start);
Args direct_command(const Mpi& mpi, const Start& start);

// "host1:4,host2:4"
std::string hosts_with_slots(const Start& start);
// The program with its arguments at the end of the words, after the user's own for MPI.
Args with_program(Args words, const Start& start);

}  // namespace tutti::launch
