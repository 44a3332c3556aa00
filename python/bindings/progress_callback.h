// Progress callbacks into Python during a fit, and handling of Ctrl-C.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace tutti::learn {

// One object per fit. Ctrl-C ends the fit but not the program, during computation as well as in the callback. Any other
// exception of the callback ends the fit too, and is rethrown after it.
class ProgressCallback {
 public:
  // Acquires the GIL, then calls `report`, which returns whether to continue the fit. Only Python's main thread
  // receives signals.
  template <class Callback>
  bool invoke(const Callback& report) {
    const pybind11::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
      return report();
    } catch (const pybind11::error_already_set& error) {
      if (error.matches(PyExc_KeyboardInterrupt))
        was_interrupted_ = true;
      else
        raised_ = std::current_exception();
      return false;
    }
  }

  // Call after the fit, with the GIL held. Rethrows an exception of the callback.
  bool was_interrupted() const {
    if (raised_) std::rethrow_exception(raised_);
    return was_interrupted_;
  }

 private:
  bool was_interrupted_ = false;
  std::exception_ptr raised_;
};

}  // namespace tutti::learn
