// What every user of HDF5 in this process must share: Debian's library is not built for threads.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <utility>

namespace tutti::io {

// Held around all calls of the library, by all components: there is one of it. While it is held the
// library prints nothing; what fails is said by the caller's own errors.
class Hdf5Lock {
 public:
  Hdf5Lock();

 private:
  std::lock_guard<std::mutex> lock_;
};

// An identifier of the library that is closed by its own function. Needs the lock to go.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;

  bool is_valid() const { return id_ >= 0; }
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): a name for it

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

}  // namespace tutti::io
