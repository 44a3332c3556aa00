// `tutti info`: detected machine, selected algorithms and the reasons.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "apps/tutti/command.h"
#include "tutti/comm/communicator.h"
#include "tutti/comm/kernels/kernels.h"
#include "tutti/comm/transport/mpi/mpi_transport.h"
#include "tutti/comm/transport/thread/thread_world.h"
#include "tutti/core/error.h"
#include "tutti/os/launcher_environment.h"
#include "tutti/plan/algorithms/table.h"
#include "tutti/topo/machine.h"
#include "tutti/topo/render.h"

namespace tutti::app {
namespace {

using comm::Communicator;

std::string section(const char* title, const std::string& text) {
  return fmt::format("{}\n{}\n", title, text);
}

std::string options_text(const Options& options) {
  std::string text;
  for (const OptionSpec& spec : options.table()) {
    const std::string& value = options.text(spec.name);
    text += fmt::format("  {:<16} {:<20} {}\n", spec.name, value.empty() ? "-" : value,
                        options.source(spec.name));
  }
  return text;
}

std::string engine_text(const std::string& started_by) {
  const std::string mpi = comm::mpi_library();
  return fmt::format("  kernels   {}\n  MPI       {}\n  ranks     {}\n", comm::simd_target(),
                     mpi.empty() ? "built without" : mpi, started_by);
}

void print(const Communicator& communicator, const topo::Machine& machine,
           const std::string& started_by) {
  const std::string page =
      section("Machine", topo::render(machine)) + section("Engine", engine_text(started_by)) +
      section("Layout", topo::render(communicator.layout())) +
      section("Dimensions", topo::render(communicator.grid())) +
      section("Choices", communicator.description()) +
      section("Options: value and origin", options_text(communicator.options())) +
      section("Algorithms", plan::table_text());
  fmt::print("{}", page);
}

// Without a launcher the ranks are threads of this process: the same plans on the same memory.
void print_with_threads(int ranks, const topo::Machine& machine, const Options& options) {
  comm::ThreadWorld world(ranks);
  world.run([&](comm::Transport& transport) {
    const auto communicator = Communicator::create(world.transport(transport.rank()), options);
    if (communicator->rank() != 0) return;
    print(*communicator, machine, fmt::format("{} threads of this process", ranks));
  });
}

}  // namespace

int run_info(int argc, char** argv) {
  CLI::App app(
      "Shows the hardware of this machine, the algorithms selected for all_reduce and the reasons",
      "tutti info");
  int ranks = 0;
  bool wants_options = false;
  app.add_option("--ranks", ranks,
                 "number of ranks to select algorithms for, without a launcher [one per CPU]")
      ->check(CLI::Range(1, 256));
  app.add_flag("--options", wants_options, "print the reference page of the options instead");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (wants_options) {
    fmt::print("{}",
               reference_markdown("Options of the communication library", comm::comm_options()));
    return 0;
  }
  const Options options = comm::environment_options();
  const topo::Machine machine = topo::discover_machine();
  const os::JobEnvironment job = os::find_job();
  if (job.kind == os::JobKind::kAlone) {
    print_with_threads(ranks > 0 ? ranks : machine.usable_cpus(), machine, options);
    return 0;
  }
  const auto communicator = Communicator::from_environment(options);
  const bool is_first = communicator->rank() == 0;
  if (is_first) print(*communicator, machine, "started by " + job.launcher);
  return 0;
}

}  // namespace tutti::app
