#include "python/bindings/bind_lms.h"

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <string>

#include "tutti/core/error.h"
#include "tutti/lms/hooks/guard.h"

namespace tutti::lms {
namespace {

namespace py = pybind11;

// The guard of the process; nullptr: not enabled.
std::unique_ptr<Guard>& guard() {
  static auto* const guard = new std::unique_ptr<Guard>;
  return *guard;
}

Guard& enabled() {
  if (!guard()) throw py::value_error("large model support is not enabled");
  return *guard();
}

Options options_of(const std::map<std::string, std::string>& values) {
  Options options(lms_options());
  for (const auto& [name, value] : values) options.set(name, value);
  return options;
}

void start(const std::map<std::string, std::string>& values, int ranks) {
  const Options options = options_of(values);
  if (guard())
    throw ConfigError("DDL-5-75", "Large model support is enabled already. Disable it first.");
  guard() = std::make_unique<Guard>(guard_options(options, ranks));
}

}  // namespace

void bind_lms(py::module_& module) {
  using Released = py::call_guard<py::gil_scoped_release>;
  module.def("lms_start", &start, Released());
  module.def("lms_check", [](const std::map<std::string, std::string>& values) {
    guard_options(options_of(values));
  });
  module.def("lms_stop", [] { guard().reset(); }, Released());
  module.def("lms_is_enabled", [] { return guard() != nullptr; });
  module.def("lms_set_budget", [](std::int64_t bytes) { enabled().set_budget(bytes); }, Released());
  module.def("lms_report", [] { return enabled().report(); }, Released());
  module.def("lms_report_json", [] { return enabled().report_json(); }, Released());
  module.def("lms_report_svg", [] { return enabled().report_svg(); }, Released());
  module.def("lms_trace_json", [] { return to_json(enabled().trace()); }, Released());
}

}  // namespace tutti::lms
