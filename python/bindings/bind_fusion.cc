// Python bindings of the fusion engine: named tensors that are reduced in the background.
#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/array_view.h"
#include "python/bindings/bind_comm.h"
#include "python/bindings/job.h"
#include "tutti/fusion/gradient_buckets.h"

namespace py = pybind11;

namespace tutti::python {
namespace {

using comm::Codec;
using comm::Work;
using fusion::Call;
using fusion::Engine;
using fusion::GradientBuckets;
using fusion::Kind;
using fusion::Ticket;

// A tensor in flight. Keeps the arrays alive until the operation is complete, even if the handle is dropped.
class Handle {
 public:
  Handle(Ticket ticket, py::object arrays, std::shared_ptr<int> last = nullptr)
      : ticket_(std::move(ticket)), arrays_(std::move(arrays)), last_(std::move(last)) {}
  ~Handle() {
    if (!ticket_.work.is_complete()) orphans().emplace_back(ticket_.work, std::move(arrays_));
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool is_complete() const { return ticket_.work.is_complete(); }
  void wait() const {
    without_gil([&] { ticket_.work.wait(); });
  }
  // Per tensor: (rows from each rank, bytes).
  py::list gathered() const {
    py::list all;
    for (std::size_t t = 0; t < ticket_.gathered->memory.size(); ++t) {
      auto* keeper = new std::shared_ptr<fusion::Gathered>(ticket_.gathered);
      all.append(py::make_tuple(ticket_.gathered->rows[t],
                                reinterpret_cast<std::uintptr_t>(ticket_.gathered->memory[t].get()),
                                py::capsule(keeper, [](void* p) {
                                  delete static_cast<std::shared_ptr<fusion::Gathered>*>(p);
                                })));
    }
    return all;
  }
  int last_joined() const { return last_ ? *last_ : -1; }

  static void forget_complete_orphans() {
    auto& all = orphans();
    if (!all.empty())
      std::erase_if(all, [](const auto& orphan) { return orphan.first.is_complete(); });
  }

 private:
  static std::vector<std::pair<Work, py::object>>& orphans() {
    static auto* const all = new std::vector<std::pair<Work, py::object>>;
    return *all;
  }
  Ticket ticket_;
  py::object arrays_;
  std::shared_ptr<int> last_;
};

std::unique_ptr<Handle> submit(Call call, py::object arrays, int process_set) {
  Handle::forget_complete_orphans();
  const auto engine = job().engine(process_set);
  Ticket ticket = engine->submit(std::move(call));  // short: the GIL is not released
  return std::make_unique<Handle>(std::move(ticket), std::move(arrays));
}

std::string shape_text(const std::vector<std::int64_t>& shape, std::size_t from = 0) {
  std::string text;
  for (std::size_t d = from; d < shape.size(); ++d)
    text += (d > from ? "x" : "") + std::to_string(shape[d]);
  return text;
}

// Description of rows whose number may differ between ranks. Types that can only be moved are passed as bytes.
std::string row_text(const ArrayView& view) {
  return "?x" + shape_text(view.shape, 1) +
         (view.has_dtype ? "" : fmt::format(" of {} bytes each", view.item_bytes));
}

// Keeps the views that a call borrows alive as long as its handle.
py::object keep(std::vector<ArrayView> views, const py::object& more) {
  py::list owners;
  for (ArrayView& view : views) owners.append(std::move(view.owner));
  owners.append(more);
  return owners;
}

std::unique_ptr<Handle> all_reduce_async(const std::string& name, const py::list& inputs,
                                         const py::list& outputs, ReduceOp op, bool adasum,
                                         double prescale, double postscale,
                                         const std::string& compression, int priority,
                                         bool is_cacheable, int process_set) {
  Call call{.name = name,
            .kind = adasum ? Kind::kAdasum : Kind::kAllReduce,
            .op = op,
            .prescale = prescale,
            .postscale = postscale,
            .compression = Codec::parse(compression),
            .priority = priority,
            .is_cacheable = is_cacheable};
  std::vector<ArrayView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    views.push_back(view_of(inputs[i], false));
    const Buffer input = views.back().elements();
    call.shape += (i > 0 ? "," : "") + shape_text(views.back().shape);
    if (!inputs[i].is(outputs[i])) views.push_back(view_of(outputs[i], true));
    call.tensors.push_back({input, views.back().elements()});
  }
  return submit(std::move(call), keep(std::move(views), py::make_tuple(inputs, outputs)),
                process_set);
}

std::unique_ptr<Handle> broadcast_async(const std::string& name, const py::object& input,
                                        const py::object& output, int root, bool is_cacheable,
                                        int process_set) {
  std::vector<ArrayView> views = {view_of(input, false)};
  Call call{.name = name,
            .kind = Kind::kBroadcast,
            .root = root,
            .is_cacheable = is_cacheable,
            .shape = shape_text(views[0].shape)};
  if (!input.is(output)) views.push_back(view_of(output, true));
  call.tensors = {{views[0].movable(), views.back().movable()}};
  return submit(std::move(call), keep(std::move(views), py::make_tuple(input, output)),
                process_set);
}

std::int64_t row_elements(const ArrayView& view, const Buffer& buffer) {
  std::int64_t elements = view.has_dtype ? 1 : static_cast<std::int64_t>(view.item_bytes);
  for (std::size_t d = 1; d < view.shape.size(); ++d) elements *= view.shape[d];
  return view.shape.empty() ? buffer.count : elements;
}

std::unique_ptr<Handle> all_gather_async(const std::string& name, const py::list& inputs,
                                         bool is_cacheable, int process_set) {
  Call call{.name = name, .kind = Kind::kAllGather, .is_cacheable = is_cacheable};
  std::vector<ArrayView> views;
  for (const auto& input : inputs) {
    const ArrayView& view = views.emplace_back(view_of(input, false));
    call.tensors.push_back({view.movable(), {}});
    call.rows.push_back(view.shape.empty() ? 1 : view.shape[0]);
    call.row_elements.push_back(row_elements(view, view.movable()));
    call.shape += row_text(view);
  }
  return submit(std::move(call), keep(std::move(views), inputs), process_set);
}

std::unique_ptr<Handle> all_to_all_async(const std::string& name, const py::object& input,
                                         const std::vector<std::int64_t>& splits, bool is_cacheable,
                                         int process_set) {
  std::vector<ArrayView> views = {view_of(input, false)};
  Call call{.name = name, .kind = Kind::kAllToAll, .is_cacheable = is_cacheable, .rows = splits};
  call.tensors = {{views[0].movable(), {}}};
  call.row_elements = {row_elements(views[0], views[0].movable())};
  call.shape = row_text(views[0]);
  return submit(std::move(call), keep(std::move(views), input), process_set);
}

std::unique_ptr<Handle> reduce_scatter_async(const std::string& name, const py::list& inputs,
                                             const py::list& outputs, ReduceOp op, double prescale,
                                             double postscale, bool is_cacheable, int process_set) {
  Call call{.name = name,
            .kind = Kind::kReduceScatter,
            .op = op,
            .prescale = prescale,
            .postscale = postscale,
            .is_cacheable = is_cacheable};
  std::vector<ArrayView> views;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    views.push_back(view_of(inputs[i], false));
    const ArrayView input = views.back();
    views.push_back(view_of(outputs[i], true));
    call.tensors.push_back({input.elements(), views.back().elements()});
    call.rows.push_back(input.shape.at(0));
    call.row_elements.push_back(row_elements(input, input.elements()));
    call.shape += (i > 0 ? "," : "") + shape_text(input.shape);
  }
  return submit(std::move(call), keep(std::move(views), py::make_tuple(inputs, outputs)),
                process_set);
}

std::unique_ptr<Handle> join_async(int process_set) {
  const auto engine = job().engine(process_set);
  auto last = std::make_shared<int>(-1);
  Ticket ticket{without_gil([&] { return engine->join(last); }), nullptr};
  return std::make_unique<Handle>(std::move(ticket), py::none(), last);
}

// `gradient(i)` returns (address, count) of gradient i of a model.
class Gradients {
 public:
  Gradients(const std::vector<std::pair<std::int64_t, DType>>& sizes, const std::string& name,
            std::size_t bucket_bytes, int passes, ReduceOp op, bool adasum, double prescale,
            double postscale, const std::string& compression, int process_set)
      : engine_(job().engine(process_set)) {
    std::vector<fusion::GradientSize> all;
    for (const auto& [count, dtype] : sizes) all.push_back({count, dtype});
    GradientBuckets::Settings settings{.name = name,
                                       .limits = {.bucket_bytes = bucket_bytes},
                                       .passes = passes,
                                       .kind = adasum ? Kind::kAdasum : Kind::kAllReduce,
                                       .op = op,
                                       .prescale = prescale,
                                       .postscale = postscale,
                                       .compression = Codec::parse(compression)};
    settings.limits.first_bytes = std::min(settings.limits.first_bytes, bucket_bytes);
    buckets_ = std::make_unique<GradientBuckets>(*engine_, all, settings);
  }
  ~Gradients() {
    without_gil([&] { buckets_.reset(); });
  }
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;
  GradientBuckets& operator*() const { return *buckets_; }
  GradientBuckets* operator->() const { return buckets_.get(); }

 private:
  std::shared_ptr<Engine> engine_;  // declared before the members that need it
  std::unique_ptr<GradientBuckets> buckets_;
};

py::dict statistics(int process_set) {
  const auto s = job().engine(process_set)->statistics();
  py::dict all;
  all["tensors"] = s.tensors;
  all["buckets"] = s.buckets;
  all["copied_bytes"] = s.copied_bytes;
  all["messages"] = s.messages;
  all["full_reports"] = s.full_reports;
  all["known_reports"] = s.known_reports;
  all["bucket_bytes"] = s.bucket_bytes;
  all["cycle_ms"] = s.cycle_ms;
  all["is_tuned"] = s.is_tuned;
  return all;
}

void bind_calls(py::module_& module) {
  const auto cacheable = py::arg("is_cacheable") = true;
  const auto set = py::arg("process_set") = 0;
  module.def("all_reduce_async", &all_reduce_async, py::arg("name"), py::arg("inputs"),
             py::arg("outputs"), py::arg("op") = ReduceOp::kSum, py::arg("adasum") = false,
             py::arg("prescale") = 1.0, py::arg("postscale") = 1.0, py::arg("compression") = "none",
             py::arg("priority") = 0, cacheable, set);
  module.def("broadcast_async", &broadcast_async, py::arg("name"), py::arg("input"),
             py::arg("output"), py::arg("root"), cacheable, set);
  module.def("all_gather_async", &all_gather_async, py::arg("name"), py::arg("inputs"), cacheable,
             set);
  module.def("all_to_all_async", &all_to_all_async, py::arg("name"), py::arg("input"),
             py::arg("splits"), cacheable, set);
  module.def("reduce_scatter_async", &reduce_scatter_async, py::arg("name"), py::arg("inputs"),
             py::arg("outputs"), py::arg("op") = ReduceOp::kSum, py::arg("prescale") = 1.0,
             py::arg("postscale") = 1.0, cacheable, set);
  module.def(
      "barrier_async",
      [](const std::string& name, int process_set) {
        return submit({.name = name, .kind = Kind::kBarrier, .is_cacheable = false}, py::none(),
                      process_set);
      },
      py::arg("name"), set);
  module.def("join_async", &join_async, set);
  module.def("set_rank", [](int id) { return job().engine(id)->rank(); });
  module.def("set_size", [](int id) { return job().engine(id)->size(); });
  module.def("add_process_set", [](const std::vector<int>& ranks) {
    return without_gil([&] { return job().add_process_set(ranks); });
  });
  module.def("remove_process_set",
             [](int id) { without_gil([&] { job().remove_process_set(id); }); });
  module.def("process_sets", [] { return job().process_sets(); });
  module.def("start_timeline",
             [](const std::string& file) { job().engine(0)->start_timeline(file); });
  module.def("stop_timeline", [] {
    const auto engine = job().engine(0);
    without_gil([&] { engine->stop_timeline().wait(); });
  });
  module.def("statistics", &statistics, set);
}

void bind_gradients(py::module_& module) {
  py::class_<Gradients>(module, "Gradients")
      .def(py::init<const std::vector<std::pair<std::int64_t, DType>>&, const std::string&,
                    std::size_t, int, ReduceOp, bool, double, double, const std::string&, int>(),
           py::arg("sizes"), py::arg("name"), py::arg("bucket_bytes") = 4 << 20,
           py::arg("passes") = 1, py::arg("op") = ReduceOp::kAverage, py::arg("adasum") = false,
           py::arg("prescale") = 1.0, py::arg("postscale") = 1.0, py::arg("compression") = "none",
           py::arg("process_set") = 0)
      .def("gradient",
           [](const Gradients& g, std::size_t i) {
             const Buffer buffer = g->gradient(i);
             return py::make_tuple(reinterpret_cast<std::uintptr_t>(buffer.data), buffer.count);
           })
      .def("mark_ready", [](const Gradients& g, std::size_t i) { g->mark_ready(i); })
      .def("set_passes", [](const Gradients& g, int passes) { g->set_passes(passes); })
      .def("synchronize", [](const Gradients& g) { without_gil([&] { g->synchronize(); }); })
      .def("is_reducing", [](const Gradients& g) { return g->is_reducing(); });
}

}  // namespace

void bind_fusion(py::module_& module) {
  py::class_<Handle>(module, "Handle")
      .def("is_complete", &Handle::is_complete)
      .def("wait", &Handle::wait)
      .def("gathered", &Handle::gathered)
      .def("last_joined", &Handle::last_joined);
  bind_calls(module);
  bind_gradients(module);
}

}  // namespace tutti::python
