// Lock and handles for the HDF5 library. Debian builds it without thread safety, so all its users in a process share
// one lock.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <utility>

namespace tutti::io {

// Holds the process-wide lock of the HDF5 library. Every call of the library, by any component, needs it. Not
// recursive. Also stops the library from printing errors; callers check results and throw their own.
class Hdf5Lock {
 public:
  Hdf5Lock();

 private:
  std::lock_guard<std::mutex> lock_;
};

// Owns an HDF5 identifier and closes it with `close`, for example H5Fclose. The destructor calls the library, so it
// must run while an Hdf5Lock is held.
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
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): for HDF5 calls

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

}  // namespace tutti::io
