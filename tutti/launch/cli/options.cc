#include "tutti/launch/cli/options.h"

#include <algorithm>

namespace tutti::launch {
namespace {

using enum OptionType;

constexpr double kMostRanks = 1 << 20;

Argument option(std::string name, std::vector<std::string> aliases, std::string value,
                std::string help, OptionType type = kText) {
  return {{std::move(name), type, "", std::move(help), ""}, std::move(aliases), std::move(value)};
}

Argument flag(std::string name, std::vector<std::string> aliases, std::string help) {
  return {{std::move(name), kBool, "0", std::move(help), ""}, std::move(aliases)};
}

Argument number(std::string name, std::vector<std::string> aliases, std::string help) {
  return {{std::move(name), kInt, "", std::move(help), "", 1, kMostRanks}, std::move(aliases), "N"};
}

Argument list(std::string name, std::vector<std::string> aliases, std::string value,
              std::string help) {
  Argument one = option(std::move(name), std::move(aliases), std::move(value), std::move(help));
  one.repeats = true;
  return one;
}

ArgumentGroup host_options() {
  return {
      "Hosts",
      {option("host", {"H"}, "LIST",
              "Hosts, host1,host2:4,node[01-16],alice@host3; :N is the number of ranks on a host. "
              "Default: the hosts of the Slurm, LSF or PBS job, or this host without a job."),
       option("hostfile", {"machinefile"}, "FILE", "Hosts, one per line, with slots=N or :N."),
       option("rankfile", {"rf"}, "FILE",
              "Hosts and cores of each rank, `rank 0=host1 slot=0:0-7`, instead of computed ones."),
       option("topology", {}, "FILE",
              "Machine file with the topology of the hosts, instead of detection; %h in the name "
              "is the host.")}};
}

ArgumentGroup layout_options() {
  return {
      "Process layout",
      {number("ranks", {"n", "np"}, "Number of ranks. Default: one per accelerator, or per core."),
       number("accelerators", {"gpus"},
              "Ranks per host. Default: one per accelerator, or per core."),
       number("nodes", {}, "Hosts per rack. Default: hosts / (racks x aisles)."),
       number("racks", {}, "Racks per aisle. Default: 1."),
       number("aisles", {}, "Number of aisles. Default: 1."),
       number("sockets", {}, "Sockets used per host. Default: all."),
       number("cores", {}, "Cores used per socket. Default: all."),
       flag("oversubscribe", {}, "Allow more ranks than cores; the ranks are not pinned.")}};
}

ArgumentGroup rank_environment_options() {
  return {"Rank environment",
          {{{"mode", kText, "p", "Mode of the communication library: a letter, or p:4x2x1x1.", ""},
            {"m"},
            "MODE"},
           list("ddlarg", {"ddloption"}, "TEXT",
                "Options of the communication library, \"-dump_iter 100\"; may be repeated."),
           flag("no_ddloptions", {}, "Do not set DDL_OPTIONS; the program sets it itself."),
           list("x", {"export"}, "NAME[=V]",
                "Export an environment variable to the ranks; may be repeated.")}};
}

ArgumentGroup mpi_options() {
  return {"MPI",
          {{{"mpi",
             kChoice,
             "auto",
             "Launcher of the ranks; none: ddlrun itself, on this host only.",
             "",
             0,
             0,
             {"auto", "openmpi", "mpich", "spectrum", "srun", "none"}},
            {},
            "NAME"},
           flag("tcp", {"t"}, "Use TCP between hosts even if a faster network is available."),
           list("mpiarg", {}, "TEXT", "Arguments for mpirun; may be repeated.")}};
}

ArgumentGroup check_options() {
  return {"Checks",
          {flag("check", {}, "Check hosts and network, print a report and exit."),
           flag("skipchecks", {}, "Skip the checks before the start."),
           flag("dry_run", {}, "Print rankfile, environment and command and exit.")}};
}

ArgumentGroup runtime_options() {
  return {
      "Runtime",
      {{{"timeout", kFloat, "", "Time limit of the job in seconds.", "", 0.1, 1e9}, {}, "S"},
       {{"max_restarts", kInt, "0", "Maximum number of restarts after a failure.", "", 0, 1e6},
        {},
        "N"},
       flag("tag_output", {}, "Prefix every line of output with its rank and host."),
       option("log_dir", {}, "DIR",
              "Parent directory of the run directories. Default: $TMPDIR/DDLRUN-<user id>."),
       flag("verbose", {"v"}, "Print the detected topology, the checks and the chosen settings.")}};
}

ArgumentGroup help_options() {
  return {"Help",
          {flag("help", {"h"}, "Print this help."), flag("version", {}, "Print the version."),
           option("print", {}, "PAGE", "Print a generated page: man, completion or reference.")}};
}

}  // namespace

const std::vector<ArgumentGroup>& argument_groups() {
  static const std::vector<ArgumentGroup> groups = {
      host_options(), layout_options(), rank_environment_options(),
      mpi_options(),  check_options(),  runtime_options(),
      help_options()};
  return groups;
}

const OptionTable& launch_options() {
  static const OptionTable table = [] {
    OptionTable all;
    for (const ArgumentGroup& group : argument_groups()) {
      for (const Argument& argument : group.arguments) all.push_back(argument.option);
    }
    return all;
  }();
  return table;
}

const Argument* find_argument(std::string_view name) {
  for (const ArgumentGroup& group : argument_groups()) {
    for (const Argument& argument : group.arguments) {
      if (argument.option.name == name) return &argument;
      for (const auto* aliases : {&argument.aliases, &argument.option.aliases}) {
        if (std::ranges::find(*aliases, name) != aliases->end()) return &argument;
      }
    }
  }
  return nullptr;
}

}  // namespace tutti::launch
