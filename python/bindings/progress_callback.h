// What happens in Python while a fit runs outside of it: progress is told, signals are heard.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace tutti::learn {

// One for each fit. Ctrl-C ends the fit, not the program, be it pressed while C++ computes or while
// Python tells of progress. Whatever else Python raises there ends the fit, too, and goes up after
// it.
class ProgressCallback {
 public:
  // Takes Python's lock, then calls `report`, which returns whether the fit shall go on. Threads but
  // Python's main one hear no signals.
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

  // After the fit, with Python's lock.
  bool was_interrupted() const {
    if (raised_) std::rethrow_exception(raised_);
    return was_interrupted_;
  }

 private:
  bool was_interrupted_ = false;
  std::exception_ptr raised_;
};

}  // namespace tutti::learn
