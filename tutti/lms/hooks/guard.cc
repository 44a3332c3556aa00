#include "tutti/lms/hooks/guard.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/core/rounded_bytes.h"
#include "tutti/lms/hooks/record_hooks.h"
#include "tutti/lms/report.h"
#include "tutti/lms/tiling/tiling.h"
#include "tutti/os/memory.h"
#include "tutti/os/output_file.h"

namespace tutti::lms {
namespace {

constexpr double kAutomaticFraction = 0.9;
constexpr std::int64_t kLeastAddressSpace = std::int64_t{256} << 30;
constexpr std::int64_t kMostAddressSpace = std::int64_t{16} << 40;

// Size of the segments: a part of a tile, at most a huge page.
std::int64_t segment_bytes_of(std::int64_t tile_bytes) {
  constexpr std::int64_t kLeast = 64 << 10, kMost = 2 << 20;
  return std::clamp(tile_bytes / 16, kLeast, kMost) / Pager::kPageBytes * Pager::kPageBytes;
}

SessionOptions session_options(const GuardOptions& options) {
  SessionOptions session;
  session.pager.budget = options.budget > 0 ? options.budget : automatic_budget();
  // Enough for the data that memory and disk can hold; the kernel limits a process to 128 TiB.
  session.pager.address_space =
      std::clamp(64 * session.pager.budget, kLeastAddressSpace, kMostAddressSpace);
  session.pager.directory = options.swap_dir;
  session.pager.verifies = options.verifies;
  session.pager.faults = options.faults;
  session.planner = options.planner;
  session.planner.movable.with_persistent |= options.mode == Mode::kFull;
  session.planner.recomputes &= options.mode != Mode::kSwap;
  session.planner.prefers_recompute |= options.mode == Mode::kRecompute;
  session.minimum_bytes = options.minimum_bytes;
  if (options.tile_bytes > 0) {
    session.segment_bytes =
        options.segment_bytes > 0 ? options.segment_bytes : segment_bytes_of(options.tile_bytes);
    session.planner.recomputes = session.planner.prefers_recompute =
        false;  // it would need entire tensors
  }
  session.plans = options.plans;
  session.handles_faults = options.handles_faults;
  return session;
}

// Never destroyed: tensors may outlive the guard.
Session& new_session(const GuardOptions& options) {
  if (active_session())
    throw ConfigError("DDL-5-75",
                      "Large model support is enabled already. Destroy the other guard first.");
  auto* const session = new Session(session_options(options));
  return *session;
}

// The part of a rank of a budget that the user chose.
std::int64_t budget_of(std::int64_t bytes, int ranks) {
  if (bytes <= 0)
    throw ConfigError("DDL-1-03",
                      "The memory budget of large model support must be larger than 0. Name the "
                      "bytes, such as 2GiB, or auto.");
  const os::FreeMemory free = os::free_memory();
  static std::atomic<bool> has_warned = false;
  if (bytes > free.bytes() && !has_warned.exchange(true))
    log::warning(
        "The memory budget of large model support is {}, but less is free: {}. If the process "
        "needs it all, the kernel will end it.",
        rounded_bytes(bytes), free.text());
  return bytes / std::max(1, ranks);
}

}  // namespace

GuardOptions guard_options(const Options& options, int ranks) {
  GuardOptions result;
  const std::string& budget = options.text("budget");
  result.budget =
      budget == "auto" ? automatic_budget(ranks) : budget_of(parse_bytes(budget), ranks);
  result.swap_dir = options.text("swap_dir");
  result.mode = options.choice<Mode>("mode");
  result.tile_bytes = tile_bytes_of(options.text("tiling"));
  result.minimum_bytes = std::max<std::int64_t>(options.integer("lms") * 1024, Pager::kPageBytes);
  result.planner = planner_options(options, result.budget, {});
  result.plot = options.text("autotune_plot");
  return result;
}

std::int64_t automatic_budget(int ranks) {
  const auto free = static_cast<double>(os::free_memory().bytes());
  return static_cast<std::int64_t>(kAutomaticFraction * free / std::max(1, ranks));
}

Guard::Guard(const GuardOptions& options) : session_(new_session(options)), plot_(options.plot) {
  set_tile_bytes(options.tile_bytes);
  activate(session_);
}

Guard::~Guard() {
  deactivate();
  set_tile_bytes(0);
  if (!plot_.empty()) write_plot();
}

void Guard::write_plot() const {
  try {
    os::write_whole(plot_, report_svg());
  } catch (const Error& error) {
    log::warning("{}", error.what());
  }
}

std::string Guard::report() const {
  const SessionStatistics now = statistics();
  const PagerStatistics& pager = now.pager;
  std::string text = fmt::format(
      "Large model support: {} steps, {} of them planned; budget {}, peak {}; {} written to and {} "
      "read from {}; {} page-outs, {} of them encoded; {} recomputations; {:.2f} s waited; {} "
      "unplanned reads in the last step, {} faults.\n",
      now.steps, now.planned_steps, rounded_bytes(now.budget), rounded_bytes(pager.peak_resident),
      rounded_bytes(pager.bytes_written), rounded_bytes(pager.bytes_read),
      session_.pager().store_name(), pager.page_outs, pager.encoded, pager.drops,
      pager.write_wait + pager.read_wait, now.last_unplanned_reads, pager.faults);
  const Trace last = trace();
  if (!last.operators.empty())
    text += to_text(make_report(last, plan(), session_.planner_options()));
  return text;
}

std::string Guard::report_json() const {
  const SessionStatistics now = statistics();
  const PagerStatistics& pager = now.pager;
  nlohmann::ordered_json json = {
      {"budget", now.budget},
      {"steps", now.steps},
      {"planned_steps", now.planned_steps},
      {"resident", pager.resident},
      {"peak_resident", pager.peak_resident},
      {"page_outs", pager.page_outs},
      {"page_ins", pager.page_ins},
      {"encoded", pager.encoded},
      {"recomputed", pager.drops},
      {"bytes_written", pager.bytes_written},
      {"bytes_read", pager.bytes_read},
      {"evictions", pager.evictions},
      {"unplanned_reads", pager.unplanned_reads},
      {"last_unplanned_reads", now.last_unplanned_reads},
      {"late_reads", pager.late_reads},
      {"faults", pager.faults},
      {"write_wait", pager.write_wait},
      {"read_wait", pager.read_wait},
  };
  const Trace last = trace();
  if (!last.operators.empty())
    json["step"] = nlohmann::ordered_json::parse(
        to_json(make_report(last, plan(), session_.planner_options())));
  return json.dump();
}

std::string Guard::report_svg() const {
  const Trace last = trace();
  if (last.operators.empty())
    throw ConfigError("DDL-5-77",
                      "Large model support has no complete step to plot. A step is complete when "
                      "the next forward pass starts.");
  return to_svg(make_report(last, plan(), session_.planner_options()), "Memory of one step");
}

}  // namespace tutti::lms
