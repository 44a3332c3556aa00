#include "bench/hybrid/quota.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace tutti::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kPeriodMicroseconds = 20'000;

const fs::path kOld = "/sys/fs/cgroup/cpu", kNew = "/sys/fs/cgroup";

bool is_old() {
  return fs::exists(kOld / "cpu.cfs_quota_us");
}

void put(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

}  // namespace

bool CpuQuota::has_groups() {
  if (geteuid() != 0) return false;
  if (is_old()) return access(kOld.c_str(), W_OK) == 0;
  std::ifstream file(kNew / "cgroup.subtree_control");
  const std::string enabled((std::istreambuf_iterator<char>(file)), {});
  return (" " + enabled).find(" cpu") != std::string::npos && access(kNew.c_str(), W_OK) == 0;
}

CpuQuota::CpuQuota(const std::string& name, double share) : share_(share) {
  if (share >= 1 || !has_groups()) return;
  group_ = (is_old() ? kOld : kNew) / name;
  std::error_code error;
  if (!fs::create_directory(group_, error)) {
    group_.clear();
    return;
  }
  const int quota = static_cast<int>(share * kPeriodMicroseconds);
  if (is_old()) {
    put(group_ / "cpu.cfs_period_us", std::to_string(kPeriodMicroseconds));
    put(group_ / "cpu.cfs_quota_us", std::to_string(quota));
  } else {
    put(group_ / "cpu.max", fmt::format("{} {}", quota, kPeriodMicroseconds));
  }
}

CpuQuota::~CpuQuota() {
  std::error_code ignored;
  for (int attempt = 0; attempt < 50 && !group_.empty() && !fs::remove(group_, ignored); ++attempt)
    usleep(20'000);  // the kernel still counts processes that were just killed
}

std::vector<std::string> CpuQuota::wrapped(const std::vector<std::string>& arguments) const {
  if (share_ >= 1) return arguments;
  std::string script;
  if (!group_.empty())
    script = fmt::format("echo $$ > {}/cgroup.procs; exec \"$@\"", group_.string());
  else
    script = fmt::format(
        "\"$@\" & p=$!; while [ \"$(cut -d' ' -f3 /proc/$p/stat)\" != Z ]; do kill -STOP $p; sleep "
        "{:.3f}; kill -CONT $p; sleep {:.3f}; done; wait $p",
        0.05 * (1 - share_), 0.05 * share_);
  std::vector<std::string> all = {"/bin/sh", "-c", script, "sh"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

}  // namespace tutti::bench
