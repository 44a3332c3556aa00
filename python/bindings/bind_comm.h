// The parts of tutti._comm.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace tutti::python {

// Runs `call` while other Python threads may run.
template <class F>
auto without_gil(F&& call) {
  const pybind11::gil_scoped_release release;
  return call();
}

// Handles, calls by name, gradients.
void bind_fusion(pybind11::module_& module);

}  // namespace tutti::python
