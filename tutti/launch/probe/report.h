// Report of a host about itself, requested by ddlrun and sent as one line of JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/launch/net/network.h"
#include "tutti/topo/machine.h"

namespace tutti::launch {

// Request of ddlrun.
struct Question {
  std::string path = {};                // PATH of the ranks
  std::string folder = {};              // working directory of the ranks
  std::string program = {};             // as typed by the user; empty: none
  std::vector<std::string> files = {};  // other required files: a script
  std::string mpi_program = {};         // mpirun command; empty: none
  std::vector<std::string> peers = {};  // names of all hosts
  int port = 0;                         // port that should be free; 0: any
};

struct Route {
  std::string address = {};    // of the peer; empty: its name cannot be resolved
  std::string own = {};        // local address; empty: no route, or this host
  std::string interface = {};  // eth0
  std::string network = {};    // 192.0.2.0/24
};

struct Report {
  std::string name = {};      // host name
  std::string identity = {};  // the same for all names of one host
  std::string version = {};   // of Tutti
  std::string mpi = {};       // "Open MPI 4.1.4"; empty: not found
  topo::Machine machine = {};
  std::int64_t clock_ns = 0;       // wall clock at the time of the report
  std::int64_t shared_memory = 0;  // free bytes of /dev/shm
  std::string temporary_folder = {};
  std::int64_t temporary_space = 0;  // free bytes in it
  bool has_folder = true;
  std::string program = {};  // path of the program; empty: not found
  std::vector<std::string> missing_files = {};
  int free_port = 0;                         // the requested port or another; 0: none
  bool port_is_busy = false;                 // the requested port is in use
  std::map<std::string, Route> routes = {};  // by peer
};

// Creates the report of this host.
Report make_report(const Question& question, const std::string& version);

// parse_* throw ConfigError for any text that to_json does not write.
std::string to_json(const Question& question);
std::string to_json(const Report& report);
Question parse_question(const std::string& text);
Report parse_report(const std::string& text);

}  // namespace tutti::launch
