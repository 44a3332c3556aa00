#include "tutti/io/hdf5.h"

namespace tutti::io {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Hdf5Lock::Hdf5Lock() : lock_(library_mutex()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace tutti::io
