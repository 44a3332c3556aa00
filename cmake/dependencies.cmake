# Everything the project takes from outside. scripts/install-deps.sh installs it on Debian 12.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
include(mpi)
include(nccl)
# Debian's own, for which the packages are, even where another python3 comes first on the PATH.
set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The Python that scripts and checks run with")
find_package(Python3 REQUIRED COMPONENTS Interpreter)
