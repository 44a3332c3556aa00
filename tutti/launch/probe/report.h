// What a host says about itself when ddlrun asks it, as one line of JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/launch/net/network.h"
#include "tutti/topo/machine.h"

namespace tutti::launch {

// What ddlrun wants to know.
struct Question {
  std::string path = {};                // PATH that ranks will have
  std::string folder = {};              // they start in
  std::string program = {};             // the word that the user typed; empty: none
  std::vector<std::string> files = {};  // that must be there too: a script
  std::string mpi_program = {};         // mpirun, as it will be called; empty: none
  std::vector<std::string> peers = {};  // names of all hosts
  int port = 0;                         // that should be free; 0: any
};

struct Route {
  std::string address = {};    // of the peer; empty: its name is not known here
  std::string own = {};        // address of this host towards it; empty: no way, or it is this host
  std::string interface = {};  // eth0
  std::string network = {};    // 192.0.2.0/24
};

struct Report {
  std::string name = {};      // what the host calls itself
  std::string identity = {};  // the same under all names of one host
  std::string version = {};   // of Tutti
  std::string mpi = {};       // "Open MPI 4.1.4"; empty: not there
  topo::Machine machine = {};
  std::int64_t clock_ns = 0;       // its wall clock while answering
  std::int64_t shared_memory = 0;  // free bytes of /dev/shm
  std::string temporary_folder = {};
  std::int64_t temporary_space = 0;  // free bytes of it
  bool has_folder = true;
  std::string program = {};  // where the program is; empty: nowhere
  std::vector<std::string> missing_files = {};
  int free_port = 0;                         // the wanted one or another; 0: none
  bool port_is_busy = false;                 // the wanted one
  std::map<std::string, Route> routes = {};  // by peer
};

// Of this host.
Report make_report(const Question& question, const std::string& version);

// parse_* throw ConfigError on anything that to_json did not write.
std::string to_json(const Question& question);
std::string to_json(const Report& report);
Question parse_question(const std::string& text);
Report parse_report(const std::string& text);

}  // namespace tutti::launch
