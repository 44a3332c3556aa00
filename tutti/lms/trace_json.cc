// JSON form of a trace. Fields with their default value are omitted.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tutti/core/error.h"
#include "tutti/lms/internal/enum_names.h"
#include "tutti/lms/trace.h"

namespace tutti::lms {
namespace {

using TraceJson = nlohmann::ordered_json;

constexpr int kTraceVersion = 2;
constexpr std::array<std::string_view, 4> kPhases = {"unknown", "forward", "backward", "optimizer"};
constexpr std::array<std::string_view, 2> kEvents = {"allocate", "free"};

template <class Value>
void put(TraceJson& json, const char* key, const Value& value, const Value& default_value) {
  if (value != default_value) json[key] = value;
}

template <class Enum, std::size_t size>
Enum get_enum(const TraceJson& json, const char* key,
              const std::array<std::string_view, size>& names) {
  if (!json.contains(key)) return Enum{};
  bool is_known = true;
  const auto name = json[key].get<std::string>();
  const Enum value = enum_value<Enum>(names, name, is_known);
  if (!is_known) {
    throw ConfigError("DDL-5-61", fmt::format("Invalid memory trace: {} '{}'. Valid values: {}.",
                                              key, name, fmt::join(names, ", ")));
  }
  return value;
}

TraceJson json_of(const Block& block) {
  TraceJson json = {{"bytes", block.bytes}};
  put(json, "persistent", block.is_persistent, false);
  put(json, "codec", name_of(block.codec), kCodecNames[0]);
  put(json, "stored_bytes", block.stored_bytes, std::int64_t{0});
  return json;
}

Block block_from(const TraceJson& json) {
  Block block;
  block.bytes = json.at("bytes").get<std::int64_t>();
  block.is_persistent = json.value("persistent", false);
  block.codec = get_enum<Codec>(json, "codec", kCodecNames);
  block.stored_bytes = json.value("stored_bytes", std::int64_t{0});
  return block;
}

TraceJson json_of(const std::vector<MemoryEvent>& events) {
  TraceJson json = TraceJson::array();
  for (const MemoryEvent& event : events) {
    json.push_back({{std::string(enum_name(kEvents, event.kind)), event.block}});
  }
  return json;
}

std::vector<MemoryEvent> events_from(const TraceJson& parent, const char* key) {
  std::vector<MemoryEvent> events;
  if (!parent.contains(key)) return events;
  for (const TraceJson& json : parent[key]) {
    const bool is_allocation = json.contains("allocate");
    events.push_back({is_allocation ? EventKind::kAllocate : EventKind::kFree,
                      json.at(is_allocation ? "allocate" : "free").get<int>()});
  }
  return events;
}

TraceJson json_of(const Operator& op) {
  TraceJson json = {{"name", op.name}};
  put(json, "phase", name_of(op.phase), kPhases[0]);
  json["start"] = op.start;
  json["end"] = op.end;
  if (!op.events_before.empty()) json["events_before"] = json_of(op.events_before);
  if (!op.events.empty()) json["events"] = json_of(op.events);
  if (!op.uses.empty()) json["uses"] = op.uses;
  if (!op.modifies.empty()) json["modifies"] = op.modifies;
  json["hash"] = op.hash;
  return json;
}

Operator operator_from(const TraceJson& json) {
  Operator op;
  op.name = json.at("name").get<std::string>();
  op.phase = get_enum<Phase>(json, "phase", kPhases);
  op.start = json.at("start").get<double>();
  op.end = json.at("end").get<double>();
  op.events_before = events_from(json, "events_before");
  op.events = events_from(json, "events");
  op.uses = json.value("uses", std::vector<int>{});
  op.modifies = json.value("modifies", std::vector<int>{});
  op.hash = json.value("hash", std::uint64_t{0});
  return op;
}

TraceJson json_of(const Recipe& recipe) {
  TraceJson json = {{"block", recipe.block}, {"op", recipe.op}};
  for (const Recipe::Input& input : recipe.inputs)
    json["inputs"].push_back({input.block, input.recipe});
  put(json, "final", recipe.is_final, true);
  return json;
}

Recipe recipe_from(const TraceJson& json) {
  Recipe recipe;
  recipe.block = json.at("block").get<int>();
  recipe.op = json.at("op").get<int>();
  if (json.contains("inputs"))
    for (const TraceJson& input : json["inputs"])
      recipe.inputs.push_back({input.at(0).get<int>(), input.at(1).get<int>()});
  recipe.is_final = json.value("final", true);
  return recipe;
}

// A key and an array with one element per line, to make traces comparable with diff.
template <class Element>
std::string array_of(const char* key, const std::vector<Element>& elements) {
  std::string text = fmt::format("\"{}\": [", key);
  const char* separator = "\n";
  for (const Element& element : elements) {
    text += separator + json_of(element).dump();
    separator = ",\n";
  }
  return text + "],\n";
}

}  // namespace

std::string_view name_of(Phase phase) {
  return enum_name(kPhases, phase);
}
std::string_view name_of(Codec codec) {
  return enum_name(kCodecNames, codec);
}

std::string to_json(const Trace& trace) {
  return fmt::format("{{\"version\": {}, \"duration\": {}, \"small_bytes\": {},\n", kTraceVersion,
                     TraceJson(trace.duration).dump(), trace.small_bytes) +
         array_of("blocks", trace.blocks) + array_of("operators", trace.operators) +
         array_of("recipes", trace.recipes) +
         "\"events_after\": " + json_of(trace.events_after).dump() + "}\n";
}

Trace trace_from_json(std::string_view text) {
  Trace trace;
  try {
    const TraceJson json = TraceJson::parse(text);
    if (json.at("version").get<int>() != kTraceVersion) {
      throw ConfigError("DDL-5-61",
                        fmt::format("Invalid memory trace: version {}; this program reads {}. "
                                    "Record it again.",
                                    json["version"].get<int>(), kTraceVersion));
    }
    trace.duration = json.at("duration").get<double>();
    trace.small_bytes = json.value("small_bytes", std::int64_t{0});
    for (const TraceJson& block : json.at("blocks")) trace.blocks.push_back(block_from(block));
    for (const TraceJson& op : json.at("operators")) trace.operators.push_back(operator_from(op));
    for (const TraceJson& recipe : json.at("recipes")) trace.recipes.push_back(recipe_from(recipe));
    trace.events_after = events_from(json, "events_after");
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError("DDL-5-61",
                      fmt::format("Invalid memory trace: {}. Record it again.", error.what()));
  }
  validate(trace);
  return trace;
}

}  // namespace tutti::lms
