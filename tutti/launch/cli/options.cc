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

ArgumentGroup where() {
  return {
      "Where",
      {option("host", {"H"}, "LIST",
              "Hosts, host1,host2:4,node[01-16],alice@host3; :N is the number of ranks on a host. "
              "Default: the hosts of the Slurm, LSF or PBS job, else this machine."),
       option("hostfile", {"machinefile"}, "FILE", "Hosts, one per line, with slots=N or :N."),
       option("rankfile", {"rf"}, "FILE",
              "Ranks on hosts and cores, `rank 0=host1 slot=0:0-7`; nothing is computed then."),
       option("topology", {}, "FILE",
              "Shape of the hosts from a machine file instead of looking; %h in the name is "
              "the host.")}};
}

ArgumentGroup how_many() {
  return {"How many",
          {number("ranks", {"n", "np"}, "Ranks in all; else one per accelerator, or per core."),
           number("accelerators", {"gpus"}, "Ranks per host; else all accelerators, or all cores."),
           number("nodes", {}, "Hosts per rack; else what is left."),
           number("racks", {}, "Racks per aisle; else 1."), number("aisles", {}, "Aisles; else 1."),
           number("sockets", {}, "Sockets per host to use; else all."),
           number("cores", {}, "Cores per socket to use; else all."),
           flag("oversubscribe", {}, "Let ranks share cores; they are not pinned then.")}};
}

ArgumentGroup what() {
  return {"What the ranks get",
          {{{"mode", kText, "p", "Mode of the communication library: letter, or p:4x2x1x1.", ""},
            {"m"},
            "MODE"},
           list("ddlarg", {"ddloption"}, "TEXT",
                "More options of the library, \"-dump_iter 100\"; may be repeated."),
           flag("no_ddloptions", {}, "Do not set DDL_OPTIONS: the program sets its own."),
           list("x", {"export"}, "NAME[=V]", "Pass a variable on to the ranks; may be repeated.")}};
}

ArgumentGroup mpi() {
  return {"MPI",
          {{{"mpi",
             kChoice,
             "auto",
             "Which one starts the ranks; none: ddlrun itself, on this machine only.",
             "",
             0,
             0,
             {"auto", "openmpi", "mpich", "spectrum", "srun", "none"}},
            {},
            "NAME"},
           flag("tcp", {"t"}, "TCP between hosts, even where there is something faster."),
           list("mpiarg", {}, "TEXT", "Words for the mpirun line; may be repeated.")}};
}

ArgumentGroup check_options() {
  return {"Checks",
          {flag("check", {}, "Only check hosts and network, print a report, start nothing."),
           flag("skipchecks", {}, "Start without the checks."),
           flag("dry_run", {}, "Print rankfile, environment and command, and start nothing.")}};
}

ArgumentGroup watching() {
  return {
      "While it runs",
      {{{"timeout", kFloat, "", "Time limit of the job in seconds.", "", 0.1, 1e9}, {}, "S"},
       {{"max_restarts", kInt, "0", "Restarts of a job that failed, at most.", "", 0, 1e6},
        {},
        "N"},
       flag("tag_output", {}, "Begin every line of output with its rank and host."),
       option("log_dir", {}, "FOLDER", "Parent of the run folders; else $TMPDIR/DDLRUN-<user id>."),
       flag("verbose", {"v"}, "Say what was found, checked and chosen.")}};
}

ArgumentGroup about() {
  return {"About",
          {flag("help", {"h"}, "This text."), flag("version", {}, "The version."),
           option("print", {}, "PAGE", "This text as man, completion or reference.")}};
}

}  // namespace

const std::vector<ArgumentGroup>& argument_groups() {
  static const std::vector<ArgumentGroup> groups = {where(),         how_many(), what(), mpi(),
                                                    check_options(), watching(), about()};
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
