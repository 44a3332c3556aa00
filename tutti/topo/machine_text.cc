// Text format of a machine, reader and writer: a first line `tutti machine 1`, then `key = value` lines, first the
// global ones, then those of `[sections]`. `#` starts a comment.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "tutti/core/bytes.h"
#include "tutti/core/error.h"
#include "tutti/topo/machine.h"
#include "tutti/topo/number_list.h"

namespace tutti::topo {
namespace {

using Keys = std::vector<std::string_view>;

struct SectionForm {
  std::string_view name;  // empty: keys before the first section
  Keys required, optional = {};
};

const std::array<SectionForm, 5>& section_forms() {
  static const std::array<SectionForm, 5> kForms = {
      {{"", {"name", "memory"}, {"cpu_model", "allowed_cpus", "cpu_quota"}},
       {"socket", {"cores"}},
       {"numa_node", {"cpus", "memory"}, {"socket"}},
       {"cache", {"level", "bytes"}, {"kind", "count", "shared_by"}},
       {"accelerator", {"name"}, {"model", "socket", "memory"}}}};
  return kForms;
}

const SectionForm* form_of(std::string_view name) {
  const auto found = std::ranges::find(section_forms(), name, &SectionForm::name);
  return found == section_forms().end() ? nullptr : &*found;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Makes a value safe to write: no line breaks, no comment sign, no surrounding spaces.
std::string clean_value(std::string_view text) {
  std::string value(text);
  for (char& character : value) {
    if (character == '\n' || character == '\r' || character == '#') character = ' ';
  }
  const std::string_view inner = trimmed(value);
  return inner.empty() ? "unknown" : std::string(inner);
}

class Section {
 public:
  struct Entry {
    std::string key, value;
    int line;
  };

  Section(std::string name, std::string source, int line)
      : name_(std::move(name)), source_(std::move(source)), line_(line) {}

  const std::string& name() const { return name_; }
  int line() const { return line_; }
  std::string location() const {
    return name_.empty() ? "before the first section" : "in [" + name_ + "]";
  }
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  bool has(std::string_view key) const {
    return std::ranges::find(entries_, key, &Entry::key) != entries_.end();
  }

  // Each sets `to` to the value of the key, if it exists.
  void read(std::string_view key, std::string& to) const {
    if (has(key)) to = entry(key).value;
  }
  void read(std::string_view key, int& to, int minimum = 0) const {
    if (has(key) && !(parse_number(entry(key).value, to) && to >= minimum))
      reject(key, fmt::format("an integer of at least {}", minimum));
  }
  void read(std::string_view key, double& to) const {
    if (has(key) && !(parse_number(entry(key).value, to) && std::isfinite(to) && to >= 0))
      reject(key, "a number of at least 0, for example 3e-07");
  }
  void read(std::string_view key, std::int64_t& bytes) const {
    read(key, bytes, &parse_bytes, "an amount of bytes, for example 32KiB or 1.5GB");
  }
  void read(std::string_view key, CpuList& list) const {
    read(key, list, &parse_list, "a list of numbers, for example 0-3,8 or none");
  }
  void read(std::string_view key, std::vector<CpuList>& lists) const {
    read(key, lists, &parse_lists, "lists of numbers separated by spaces, for example 0,4 1,5");
  }
  void read_choice(std::string_view key, std::string& to, const Keys& choices) const {
    read(key, to);
    if (std::ranges::find(choices, to) == choices.end())
      reject(key, fmt::to_string(fmt::join(choices, " or ")));
  }

 private:
  const Entry& entry(std::string_view key) const {
    return *std::ranges::find(entries_, key, &Entry::key);
  }
  template <class T>
  static bool parse_number(const std::string& text, T& value) {
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    return error == std::errc() && end == last;
  }
  // Lists separated by spaces; "none": no list.
  static std::vector<CpuList> parse_lists(std::string_view text) {
    std::vector<CpuList> lists;
    for (std::string_view rest = text == "none" ? "" : text; !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
      lists.push_back(parse_list(rest.substr(0, end)));
      rest = trimmed(rest.substr(end));
    }
    return lists;
  }
  template <class T, class Parse>
  void read(std::string_view key, T& to, Parse parse, std::string_view wanted) const {
    try {
      if (has(key)) to = parse(entry(key).value);
    } catch (const ConfigError&) {
      reject(key, wanted);
    }
  }
  [[noreturn]] void reject(std::string_view key, std::string_view wanted) const {
    const Entry& found = entry(key);
    throw ConfigError("DDL-2-12", fmt::format("{}:{}: {} = {} is not valid. Write {}.", source_,
                                              found.line, found.key, found.value, wanted));
  }

  std::string name_, source_;
  int line_;
  std::vector<Entry> entries_;
};

// Splits the text into sections; the first holds the global keys.
class Parser {
 public:
  explicit Parser(const std::string& source) : source_(source), sections_{Section("", source, 1)} {}

  std::vector<Section> parse(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view whole = text.substr(begin, end - begin);
      ++line_;
      const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
      if (!content.empty()) take(content);
      begin = end + 1;
    }
    if (!has_first_line_) take_first_line("");
    for (const Section& section : sections_)
      for (const std::string_view key : form_of(section.name())->required)
        if (!section.has(key))
          fail("DDL-2-13", section.line(),
               fmt::format("'{}' is missing {}; add a line '{} = ...'", key, section.location(),
                           key));
    return std::move(sections_);
  }

 private:
  void take(std::string_view content) {
    if (!has_first_line_) return take_first_line(content);
    if (content.front() == '[') return take_section(content);
    take_entry(content);
  }

  void take_first_line(std::string_view content) {
    if (content != "tutti machine 1")
      fail("DDL-2-14", line_,
           fmt::format("the first line must be 'tutti machine 1', not '{}'", content));
    has_first_line_ = true;
  }

  void take_section(std::string_view content) {
    const std::string name(trimmed(content.substr(1, content.size() - 2)));
    if (content.back() != ']' || name.empty() || form_of(name) == nullptr) {
      Keys names;
      for (const SectionForm& form : section_forms())
        if (!form.name.empty()) names.push_back(form.name);
      fail("DDL-2-11", line_,
           fmt::format("unknown section {}; the sections are [{}]", content,
                       fmt::join(names, "], [")));
    }
    sections_.emplace_back(name, source_, line_);
  }

  void take_entry(std::string_view content) {
    const std::size_t equals = content.find('=');
    const std::string key(trimmed(content.substr(0, equals)));
    const std::string value(equals == content.npos ? "" : trimmed(content.substr(equals + 1)));
    if (key.empty() || value.empty())
      fail("DDL-2-10", line_, fmt::format("'{}' is not of the form key = value", content));
    Section& section = sections_.back();
    const SectionForm& form = *form_of(section.name());
    Keys known = form.required;
    known.insert(known.end(), form.optional.begin(), form.optional.end());
    if (std::ranges::find(known, key) == known.end())
      fail("DDL-2-11", line_,
           fmt::format("unknown key '{}' {}; the keys are {}", key, section.location(),
                       fmt::join(known, ", ")));
    if (section.has(key)) fail("DDL-2-10", line_, fmt::format("'{}' is given twice", key));
    section.add({key, value, line_});
  }

  [[noreturn]] void fail(const char* code, int line, const std::string& message) const {
    throw ConfigError(code, fmt::format("{}:{}: {}.", source_, std::max(line, 1), message));
  }

  const std::string& source_;
  std::vector<Section> sections_;
  int line_ = 0;
  bool has_first_line_ = false;
};

std::string optional_socket(int socket) {
  return socket < 0 ? "" : fmt::format("socket = {}\n", socket);
}

std::string socket_text(const Socket& socket) {
  std::string text = "\n[socket]\ncores =";
  for (const CpuList& core : socket.cores) text += " " + format_list(core);
  return text + (socket.cores.empty() ? " none\n" : "\n");
}

std::string cache_text(const Cache& cache) {
  return fmt::format("\n[cache]\nlevel = {}\nkind = {}\nbytes = {}\ncount = {}\nshared_by = {}\n",
                     cache.level, cache.kind, format_bytes(cache.bytes), cache.count,
                     cache.shared_by);
}

std::string accelerator_text(const Accelerator& accelerator) {
  std::string text = fmt::format("\n[accelerator]\nname = {}\nmodel = {}\n",
                                 clean_value(accelerator.name), clean_value(accelerator.model));
  text += optional_socket(accelerator.socket);
  if (accelerator.memory) text += fmt::format("memory = {}\n", format_bytes(accelerator.memory));
  return text;
}

NumaNode parse_numa_node(const Section& section) {
  NumaNode node;
  section.read("socket", node.socket);
  section.read("cpus", node.cpus);
  section.read("memory", node.memory);
  return node;
}

Cache parse_cache(const Section& section) {
  Cache cache;
  section.read("level", cache.level, 1);
  section.read("bytes", cache.bytes);
  section.read_choice("kind", cache.kind, {"data", "instruction", "unified"});
  section.read("count", cache.count, 1);
  section.read("shared_by", cache.shared_by, 1);
  return cache;
}

Accelerator parse_accelerator(const Section& section) {
  Accelerator accelerator;
  section.read("name", accelerator.name);
  section.read("model", accelerator.model);
  section.read("socket", accelerator.socket);
  section.read("memory", accelerator.memory);
  return accelerator;
}

CpuList all_cpus(const Machine& machine) {
  CpuList cpus;
  for (const Socket& socket : machine.sockets) {
    for (const CpuList& core : socket.cores) cpus.insert(cpus.end(), core.begin(), core.end());
  }
  std::ranges::sort(cpus);
  return cpus;
}

void check(const Machine& machine, const std::string& source) {
  const CpuList cpus = all_cpus(machine);
  const auto reject = [&](const std::string& message) {
    throw ConfigError("DDL-2-05", fmt::format("{}: {}", source, message));
  };
  if (cpus.empty()) reject("the machine has no cores. Add a [socket] with a line cores = 0 1 2 3.");
  const auto twice = std::ranges::adjacent_find(cpus);
  if (twice != cpus.end()) reject(fmt::format("CPU {} is in two cores. List it once.", *twice));
  for (const int cpu : machine.allowed_cpus) {
    if (!std::ranges::binary_search(cpus, cpu)) {
      reject(fmt::format("allowed_cpus has CPU {}, but no core has it.", cpu));
    }
  }
  const auto check_socket = [&](int socket, const std::string& what) {
    if (socket >= static_cast<int>(machine.sockets.size())) {
      reject(fmt::format("{} is on socket {}, but the last socket is {}.", what, socket,
                         machine.sockets.size() - 1));
    }
  };
  for (const NumaNode& node : machine.numa_nodes) check_socket(node.socket, "a numa_node");
  for (const Accelerator& one : machine.accelerators) check_socket(one.socket, one.name);
}

}  // namespace

std::string to_text(const Machine& machine) {
  std::string text =
      fmt::format("tutti machine 1\nname = {}\ncpu_model = {}\nmemory = {}\nallowed_cpus = {}\n",
                  clean_value(machine.name), clean_value(machine.cpu_model),
                  format_bytes(machine.memory), format_list(machine.allowed_cpus));
  if (machine.cpu_quota > 0) text += fmt::format("cpu_quota = {}\n", machine.cpu_quota);
  for (const Socket& socket : machine.sockets) text += socket_text(socket);
  for (const NumaNode& node : machine.numa_nodes) {
    text += fmt::format("\n[numa_node]\ncpus = {}\nmemory = {}\n{}", format_list(node.cpus),
                        format_bytes(node.memory), optional_socket(node.socket));
  }
  for (const Cache& cache : machine.caches) text += cache_text(cache);
  for (const Accelerator& one : machine.accelerators) text += accelerator_text(one);
  return text;
}

Machine parse_machine(std::string_view text, const std::string& source) {
  const std::vector<Section> sections = Parser(source).parse(text);
  const Section& head = sections[0];
  Machine machine;
  head.read("name", machine.name);
  head.read("memory", machine.memory);
  head.read("cpu_model", machine.cpu_model);
  head.read("cpu_quota", machine.cpu_quota);
  for (const Section& section : sections) {
    if (section.name() == "socket") section.read("cores", machine.sockets.emplace_back().cores);
    if (section.name() == "numa_node") machine.numa_nodes.push_back(parse_numa_node(section));
    if (section.name() == "cache") machine.caches.push_back(parse_cache(section));
    if (section.name() == "accelerator") machine.accelerators.push_back(parse_accelerator(section));
  }
  machine.allowed_cpus = all_cpus(machine);
  head.read("allowed_cpus", machine.allowed_cpus);
  check(machine, source);
  return machine;
}

}  // namespace tutti::topo
