#include "tutti/launch/cli/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/launch/cli/launch_command.h"
#include "tutti/launch/cli/launch_request.h"
#include "tutti/launch/output/job_output.h"
#include "tutti/os/shell.h"
#include "tutti/runs/job_folder.h"
#include "tutti/topo/render.h"

namespace tutti::launch {
namespace {

constexpr int kNothingStarted = 2;
constexpr int kOutputLost = 1;         // the job succeeded, but its output could not be written
constexpr int kKeepDays = 7;           // age at which temporary run directories are deleted
constexpr double kDeliverSeconds = 1;  // for the remaining output of an interrupted job

class Launch {
 public:
  Launch(const CommandLine& line, const BuildInfo& own)
      : line_(line), own_(own), options_(line.options), request_(parse_request(line, own)) {}

  int run() {
    check_options();
    facts_ = find_facts(line_, request_, own_, false);
    if (options_.flag("check")) return report();
    if (!may_start()) return kNothingStarted;
    if (options_.flag("dry_run")) return show();
    return run_with_restarts();
  }

 private:
  void check_options() const {
    if (options_.flag("no_ddloptions")) return;
    std::string text = "-mode " + options_.text("mode");
    for (const std::string& more : line_.list("ddlarg")) text += " " + more;
    own_.check_ddl_options(text);
  }

  void print_if_verbose(const std::string& text) const {
    if (options_.flag("verbose")) print(fmt::format("ddlrun: {}\n", text));
  }

  // Implements --check.
  int report() {
    try {
      facts_.rankfile = make_rankfile(request_, facts_);
    } catch (const ConfigError& error) {
      fmt::print("{}\n", error.what());
    }
    const std::vector<CheckResult> results = run_checks(facts_);
    fmt::print("{} host{} from {}, {}\n", request_.hosts.size(),
               request_.hosts.size() == 1 ? "" : "s", request_.source,
               request_.mpi ? request_.mpi->title() : "no MPI (DDL-3-13)");
    fmt::print("{}\n{}", render(results, true), render_space(facts_));
    if (facts_.matrix.hosts.size() > 1) fmt::print("\n{}", render(facts_.matrix));
    return has_errors(results) || !request_.mpi || facts_.rankfile.size() == 0 ? kNothingStarted
                                                                               : 0;
  }

  // Creates the rankfile and runs the checks; prints the errors found.
  bool may_start() {
    const bool all_answer = std::ranges::all_of(
        facts_.hosts, [](const HostFacts& host) { return host.report.has_value(); });
    if (all_answer) facts_.rankfile = make_rankfile(request_, facts_);
    if (options_.flag("dry_run") || options_.flag("skipchecks")) {
      if (!all_answer) fmt::print(stderr, "{}", render(run_checks(facts_), false));
      return all_answer;
    }
    const std::vector<CheckResult> results = run_checks(facts_);
    const bool is_verbose = options_.flag("verbose");
    if (is_verbose && all_answer)
      print_if_verbose("topology of the hosts:\n" + topo::render(common_machine(facts_)));
    fmt::print(stderr, "{}", render(results, is_verbose));
    if (!has_errors(results)) return true;
    fmt::print(stderr, "ddlrun: nothing was started. --skipchecks starts without these checks.\n");
    return false;
  }

  LaunchCommand launch_command() const { return {line_, own_, request_, facts_}; }

  // Implements --dry-run.
  int show() const {
    const Environment environment = launch_command().environment("", 0);
    fmt::print("{}\n", to_text(facts_.rankfile));
    for (const auto& [name, value] : environment) fmt::print("{}={}\n", name, value);
    fmt::print("\n+ {}\n",
               os::shell_line(launch_command().command(environment, "RANKFILE", false)));
    return 0;
  }

  int run_with_restarts() {
    launch_command().command(launch_command().environment("", 0), "",
                             false);  // throws before a directory is created
    os::raise_file_limit();
    runs::JobFolder folder(log_folder());
    JobOutput output(folder);
    output_ = &output;
    const int most = static_cast<int>(options_.integer("max_restarts"));
    JobEnd end = run_once(folder, 0);
    for (int restart = 1; end.may_restart && restart <= most && prepare_restart(restart, most);
         ++restart) {
      output.event([restart, hosts = host_list_text(facts_.rankfile)](runs::EventLog& log) {
        log.write("restart", {{"number", std::int64_t{restart}}, {"hosts", hosts}});
      });
      end = run_once(folder, restart);
    }
    if (end.exit_code != 0) {
      print(fmt::format("ddlrun: files of this run are in {}\n", folder.path().string()));
    }
    const int code = deliver_output(end);
    output_ = nullptr;
    return code;
  }

  std::filesystem::path log_folder() const {
    const std::string& parent = options_.text("log_dir");
    if (!parent.empty()) return parent;
    const std::filesystem::path folder = runs::default_log_folder();
    runs::remove_old_run_folders(folder, kKeepDays);
    return folder;
  }

  // Seconds until --timeout, which counts from the first start. 0: no limit.
  double seconds_left() const {
    if (options_.is_default("timeout")) return 0;
    return std::max(options_.number("timeout") - since_start_.seconds(), 0.001);
  }

  JobEnd run_once(runs::JobFolder& folder, int restart) {
    JobSpec spec = launch_command().job(folder, restart);
    spec.timeout = seconds_left();
    const std::string line = os::shell_line(spec.command);
    print(fmt::format("+ {}\n", line));
    print_if_verbose("run directory: " + folder.path().string());
    output_->event([line, restart, ranks = facts_.rankfile.size(),
                    hosts = host_list_text(facts_.rankfile)](runs::EventLog& log) {
      log.write("launch", {{"command", line},
                           {"ranks", std::int64_t{ranks}},
                           {"hosts", hosts},
                           {"restart", std::int64_t{restart}}});
    });
    const JobEnd end = [&] {
      const os::SignalFd signals(kEndSignals);
      return run_job(spec, folder, *output_, signals);
    }();
    output_->event([end](runs::EventLog& log) {
      log.write("job_end", {{"code", std::int64_t{end.exit_code}}, {"message", end.message}});
    });
    output_->log(folder.log("ddlrun.log"), fmt::format("+ {}\n{}\n", line, end.message));
    print_message(end);
    if (!end.lost_hosts.empty()) {
      end_job_on(end.lost_hosts, spec.secret, request_.shell, own_.program);
    }
    return end;
  }

  // Waits without a limit until the reader has consumed the output; a signal or the timeout ends the wait. Returns the
  // exit code of ddlrun.
  int deliver_output(JobEnd end) {
    const os::SignalFd signals(kEndSignals);
    const auto drain =
        output_->drain(signals, end.is_interrupted ? kDeliverSeconds : seconds_left());
    if (!drain.is_drained && !end.is_interrupted) {
      end = drain.signal ? interrupted_by(drain.signal) : timed_out();
      print_message(end);
      output_->drain(signals, kDeliverSeconds);
    }
    if (end.exit_code != 0 || !output_->has_lost_output()) return end.exit_code;
    return output_->has_lost_reader() ? output_closed().exit_code : kOutputLost;
  }

  void print(const std::string& text) const {
    if (output_) return output_->print(STDERR_FILENO, text);
    fmt::print(stderr, "{}", text);
  }

  void print_message(const JobEnd& end) const {
    if (end.message.empty()) return;
    print(fmt::format("ddlrun: {}{}", end.message, end.message.ends_with('\n') ? "" : "\n"));
  }

  // Probes all hosts again and continues with those that reply.
  bool prepare_restart(int number, int most) {
    print(fmt::format("ddlrun: DDL-3-47 restart {} of {}\n", number, most));
    facts_ = find_facts(line_, request_, own_, true);
    try {
      if (drop_lost_hosts() > 0) shrink();
      facts_.rankfile = make_rankfile(request_, facts_);
    } catch (const ConfigError& error) {
      print(fmt::format("ddlrun: no restart: {}\n", error.what()));
      return false;
    }
    const std::vector<CheckResult> results = run_checks(facts_);
    print(render(results, false));
    return !has_errors(results);
  }

  // Returns the number of hosts removed.
  std::size_t drop_lost_hosts() {
    std::set<std::string> lost;
    for (const HostFacts& host : facts_.hosts) {
      if (host.report) continue;
      lost.insert(host.name);
      print(fmt::format("ddlrun: without {}: {} {}\n", host.name, host.failure.code,
                        host.failure.message));
    }
    std::erase_if(request_.hosts, [&](const Host& host) { return lost.contains(host.name); });
    std::erase_if(facts_.hosts, [](const HostFacts& host) { return !host.report; });
    if (request_.hosts.empty()) throw ConfigError("DDL-3-21", "None of the hosts answers.");
    return lost.size();
  }

  // Options for the whole job no longer hold: racks and dimensions may not divide the remaining hosts, and their cores
  // may not suffice for the requested ranks.
  void shrink() {
    if (request_.rankfile)
      throw ConfigError("DDL-3-11", "The rankfile has a host that no longer answers.");
    request_.mode.resize(std::min(request_.mode.find(':'), request_.mode.size()));
    Shape& shape = request_.shape;
    shape.aisles = shape.racks = shape.nodes = 0;
    const int room =
        natural_ranks(common_machine(facts_)) * static_cast<int>(request_.hosts.size());
    if (shape.ranks > room && !shape.oversubscribe) shape.ranks = room;
  }

  const CommandLine& line_;
  const BuildInfo& own_;
  const Options& options_;
  LaunchRequest request_;
  Facts facts_;
  Stopwatch since_start_;
  JobOutput* output_ = nullptr;  // set from the start of a job until its output is delivered
};

}  // namespace

int launch(const CommandLine& line, const BuildInfo& own) {
  leave_outer_job();
  return Launch(line, own).run();
}

}  // namespace tutti::launch
