// The programs that start ranks, one row each: how to know them, and the command line they want.
// Adding one: its file, its row in table.cc, its golden file in testdata.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/launch/hosts.h"

namespace tutti::launch {

using Words = std::vector<std::string>;

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
  Words mpi_arguments = {};               // the user's
  Words program = {};                     // and its arguments
};

struct Flavour;

struct Mpi {
  const Flavour* flavour = nullptr;
  std::string version = {};  // 4.1.4
  std::string program = {};  // as it is called: mpirun, /opt/openmpi/bin/mpirun
  std::string plugin = {};   // srun: pmix, pmi2

  int major() const;
  std::string title() const;  // "Open MPI 4.1.4"
};

struct Flavour {
  std::string name;   // as in --mpi
  std::string title;  // for people
  bool pins_ranks;    // by itself; else ranks pin themselves
  bool crosses_hosts;
  Words (*command)(const Mpi& mpi, const Start& start);
};

const std::vector<Flavour>& flavours();
const Flavour& flavour_named(std::string_view name);

// What a program that answered `--version` with `text` is; nothing when it is none of ours.
std::optional<Mpi> recognise(std::string_view text);

// One file each.
Words open_mpi_command(const Mpi& mpi, const Start& start);
Words spectrum_command(const Mpi& mpi, const Start& start);
Words mpich_command(const Mpi& mpi, const Start& start);
Words srun_command(const Mpi& mpi, const Start& start);
Words direct_command(const Mpi& mpi, const Start& start);

// "host1:4,host2:4"
std::string hosts_with_slots(const Start& start);
// The program with its arguments at the end of the words, after the user's own for MPI.
Words with_program(Words words, const Start& start);

}  // namespace tutti::launch
