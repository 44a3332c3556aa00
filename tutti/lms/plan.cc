#include "tutti/lms/plan.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/lms/internal/enum_names.h"
#include "tutti/lms/lifetimes.h"

namespace tutti::lms {
namespace {

using PlanJson = nlohmann::ordered_json;

constexpr int kPlanVersion = 1;
constexpr std::array<std::string_view, 2> kActions = {"swap", "recompute"};

[[noreturn]] void throw_invalid_plan(const std::string& message) {
  throw ConfigError("DDL-5-62",
                    fmt::format("Invalid memory plan: {}. Plan the step again.", message));
}

void validate_decision(const Decision& decision, const Trace& trace,
                       const std::vector<Lifetime>& lifetimes) {
  const auto fail = [&](const char* message) {
    throw_invalid_plan(
        fmt::format("block {} after operator {}: {}", decision.block, decision.last_use, message));
  };
  if (decision.block < 0 || static_cast<std::size_t>(decision.block) >= trace.blocks.size()) {
    fail("no such block");
  }
  const bool is_ascending =
      decision.last_use <= decision.write_after && decision.write_after < decision.free_by &&
      decision.free_by <= decision.read_before && decision.read_before <= decision.next_use;
  if (!is_ascending) fail("its operators are not in ascending order");
  const auto& lifetime = lifetimes[static_cast<std::size_t>(decision.block)];
  for (const IdleInterval& interval : idle_intervals(lifetime, trace)) {
    if (interval.last_use == decision.last_use && interval.next_use == decision.next_use &&
        interval.is_needed == decision.is_needed) {
      return;
    }
  }
  fail("not an idle interval");
}

PlanJson json_of(const Decision& decision) {
  PlanJson json = {{"block", decision.block},       {"action", name_of(decision.action)},
                   {"last_use", decision.last_use}, {"write_after", decision.write_after},
                   {"free_by", decision.free_by},   {"read_before", decision.read_before},
                   {"next_use", decision.next_use}};
  if (!decision.is_needed) json["needed"] = false;
  if (decision.is_clean) json["clean"] = true;
  if (decision.codec != Codec::kNone) json["codec"] = name_of(decision.codec);
  return json;
}

Decision decision_from(const PlanJson& json) {
  bool is_known = true;
  Decision decision;
  decision.block = json.at("block").get<int>();
  decision.action = enum_value<Action>(kActions, json.at("action").get<std::string>(), is_known);
  decision.last_use = json.at("last_use").get<int>();
  decision.write_after = json.at("write_after").get<int>();
  decision.free_by = json.at("free_by").get<int>();
  decision.read_before = json.at("read_before").get<int>();
  decision.next_use = json.at("next_use").get<int>();
  decision.is_needed = json.value("needed", true);
  decision.is_clean = json.value("clean", false);
  const auto codec = json.value("codec", std::string(name_of(Codec::kNone)));
  decision.codec = enum_value<Codec>(kCodecNames, codec, is_known);
  if (!is_known) throw_invalid_plan("unknown action or codec: " + json.dump());
  return decision;
}

}  // namespace

std::string_view name_of(Action action) {
  return enum_name(kActions, action);
}

void validate(const Plan& plan, const Trace& trace) {
  if (plan.hash != trace.hash()) throw_invalid_plan("it belongs to another trace");
  const auto lifetimes = lifetimes_of(trace);
  for (const Decision& decision : plan.decisions) validate_decision(decision, trace, lifetimes);
}

std::string to_json(const Plan& plan) {
  std::string text =
      fmt::format("{{\"version\": {}, \"hash\": {}, \"budget\": {},\n\"decisions\": [",
                  kPlanVersion, plan.hash, plan.budget);
  const char* separator = "\n";
  for (const Decision& decision : plan.decisions) {
    text += separator + json_of(decision).dump();
    separator = ",\n";
  }
  return text + "]}\n";
}

Plan plan_from_json(std::string_view text) {
  try {
    const PlanJson json = PlanJson::parse(text);
    if (json.at("version").get<int>() != kPlanVersion) throw_invalid_plan("unknown version");
    Plan plan;
    plan.hash = json.at("hash").get<std::uint64_t>();
    plan.budget = json.at("budget").get<std::int64_t>();
    for (const PlanJson& decision : json.at("decisions")) {
      plan.decisions.push_back(decision_from(decision));
    }
    return plan;
  } catch (const nlohmann::json::exception& error) {
    throw_invalid_plan(error.what());
  }
}

}  // namespace tutti::lms
