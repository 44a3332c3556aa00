#include "tutti/launch/placement/rank_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "tutti/core/error.h"
#include "tutti/launch/placement/placement.h"
#include "tutti/os/launcher_environment.h"

namespace tutti::launch {
namespace {

constexpr std::array kNames = {
    "PATH",        "LD_LIBRARY_PATH",  "LD_PRELOAD",     "PYTHONPATH",    "PYTHONHOME",
    "VIRTUAL_ENV", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "CONDA_PREFIX",  "CONDA_DEFAULT_ENV",
    "LANG",        "LC_ALL",           "MASTER_PORT",    "XDG_CACHE_HOME"};

constexpr std::array kBeginnings = {"DDL_",      "TUTTI_", "OMP_",  "GOMP_",  "KMP_",   "MKL_",
                                    "OPENBLAS_", "NCCL_",  "UCX_",  "CUDA_",  "TORCH_", "PYTORCH_",
                                    "HOROVOD_",  "ASAN_",  "LSAN_", "UBSAN_", "TSAN_",  "LSB_"};

// Port that ddlrun assigned to its ranks; marks a process as a rank for a nested ddlrun.
constexpr const char* kPortVariable = "TUTTI_LAUNCH_PORT";

constexpr std::array kJobNames = {
    "MASTER_ADDR",      "RANK",          "WORLD_SIZE",        "LOCAL_RANK",
    "LOCAL_WORLD_SIZE", "DDL_HOST_LIST", "DDL_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT",
    "TUTTI_JOB_SECRET", "TUTTI_WATCH"};

template <class Names>
bool begins_with_any(const std::string& name, const Names& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](const char* beginning) { return name.starts_with(beginning); });
}

bool is_passed_on(const std::string& name) {
  if (name == "TUTTI_JOB_SECRET") return false;  // every job has a new secret
  if (name.starts_with("TUTTI_TESTBED") || name.starts_with("TUTTI_WATCH")) return false;
  return std::ranges::find(kNames, name) != kNames.end() || begins_with_any(name, kBeginnings);
}

void add_exports(Environment* environment, const Environment& own,
                 const std::vector<std::string>& exports) {
  for (const std::string& text : exports) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto found = own.find(name);
    if (name.empty() || (equals == text.npos && found == own.end())) {
      throw ConfigError("DDL-3-16", fmt::format("-x {}: the variable is not set. Write -x NAME of "
                                                "one that is set, or -x NAME=value.",
                                                text));
    }
    (*environment)[name] = equals == text.npos ? found->second : text.substr(equals + 1);
  }
}

// The user's DDL_OPTIONS follow the computed mode and thus override it.
std::string ddl_options(const Environment& own, const EnvironmentRequest& request) {
  std::string text = "-mode " + request.mode;
  const auto found = own.find("DDL_OPTIONS");
  if (found != own.end() && !found->second.empty()) text += " " + found->second;
  for (const std::string& more : request.ddl_arguments) text += " " + more;
  return text;
}

int threads_per_rank(const Rankfile& rankfile) {
  std::size_t fewest = 1 << 20;
  for (const RankSlot& slot : rankfile.ranks) {
    fewest = std::min(fewest, std::max<std::size_t>(slot.cores.size(), 1));
  }
  // Ranks that share cores divide them evenly.
  const int sharers = rankfile.sockets * rankfile.cores > 0
                          ? (rankfile.accelerators + rankfile.sockets * rankfile.cores - 1) /
                                (rankfile.sockets * rankfile.cores)
                          : 1;
  return sharers > 1 ? 1 : static_cast<int>(fewest);
}

}  // namespace

Environment without_outer_job(Environment own) {
  const auto port = own.find(kPortVariable);
  if (port == own.end()) return own;
  const auto master = own.find("MASTER_PORT");
  if (master != own.end() && master->second == port->second) own.erase(master);
  own.erase(port);
  for (const char* name : kJobNames) own.erase(name);
  std::erase_if(own, [](const auto& entry) { return os::is_mpi_rank_variable(entry.first); });
  const auto folder = own.find("TUTTI_RUN_FOLDER");
  const bool has_folder = folder != own.end();
  if (has_folder &&
      std::filesystem::path(folder->second).filename().string().starts_with("DDLRUN."))
    own.erase(folder);
  // The mode of the outer job includes its dimensions; the user's options follow it.
  const auto options = own.find("DDL_OPTIONS");
  if (options != own.end() && options->second.starts_with("-mode ")) {
    const std::size_t end = options->second.find(' ', 6);
    options->second.erase(0, end == std::string::npos ? end : end + 1);
  }
  return own;
}

void leave_outer_job() {
  const Environment own = own_environment(), inner = without_outer_job(own);
  for (const auto& [name, value] : own) {
    const auto kept = inner.find(name);
    if (kept == inner.end()) ::unsetenv(name.c_str());
    if (kept != inner.end() && kept->second != value) {
      ::setenv(name.c_str(), kept->second.c_str(), 1);
    }
  }
}

Environment rank_environment(const Environment& own, const Rankfile& rankfile,
                             const EnvironmentRequest& request) {
  Environment out;
  for (const auto& [name, value] : own) {
    if (is_passed_on(name)) out[name] = value;
  }
  out.emplace("OMP_NUM_THREADS", fmt::format("{}", threads_per_rank(rankfile)));
  out.emplace("MASTER_PORT", fmt::format("{}", request.master_port));
  out[kPortVariable] = out["MASTER_PORT"];
  // Output may not be a terminal, but progress shall be visible immediately.
  out.emplace("PYTHONUNBUFFERED", "1");
  if (!request.run_folder.empty()) out.emplace("TUTTI_RUN_FOLDER", request.run_folder);
  out["MASTER_ADDR"] = request.master_address;
  out["WORLD_SIZE"] = fmt::format("{}", rankfile.size());
  out["DDL_HOST_LIST"] = host_list_text(rankfile);
  out["DDL_RESTART_COUNT"] = out["TORCHELASTIC_RESTART_COUNT"] = fmt::format("{}", request.restart);
  if (request.sets_ddl_options) {
    out["DDL_OPTIONS"] = ddl_options(own, request);
  } else {
    out.erase("DDL_OPTIONS");
  }
  if (!request.python_folder.empty()) {
    std::string& path = out["PYTHONPATH"];
    path = path.empty() ? request.python_folder : request.python_folder + ":" + path;
  }
  add_exports(&out, own, request.exports);
  return out;
}

std::string find_python_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> candidates = {fs::path(folder) / "../python",
                                      fs::path(folder) / "../lib/python3/dist-packages"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / "../lib", ignored)) {
    for (const char* name : {"site-packages", "dist-packages", "python3/dist-packages"}) {
      candidates.push_back(entry.path() / name);
    }
  }
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate / "tutti/__init__.py", ignored)) {
      return fs::weakly_canonical(candidate, ignored).string();
    }
  }
  return "";
}

}  // namespace tutti::launch
