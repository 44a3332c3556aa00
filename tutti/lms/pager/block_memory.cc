#include "tutti/lms/pager/block_memory.h"

namespace tutti::lms {
namespace {

constexpr std::int64_t kPageBytes = 4096;

class HostMemory final : public BlockMemory {
 public:
  ~HostMemory() override {
    if (reservation_.address) unmap(reservation_.address, reservation_.bytes);
  }
  std::int64_t granularity() const override { return kPageBytes; }
  bool is_host() const override { return true; }
  Reservation reserve(std::int64_t most, std::int64_t least) override {
    return reservation_ = lms::reserve(most, least);
  }
  void supply(std::byte* address, std::int64_t bytes) override {
    protect(address, bytes, Access::kReadWrite);
  }
  void set_writable(std::byte* address, std::int64_t bytes, bool is_writable) override {
    protect(address, bytes, is_writable ? Access::kReadWrite : Access::kRead);
  }
  void synchronize() override {}
  void discard(std::byte* address, std::int64_t bytes) override { lms::discard(address, bytes); }
  std::byte* map_temporary(std::int64_t bytes) override { return lms::map_temporary(bytes); }
  void unmap_temporary(std::byte* address, std::int64_t bytes) override { unmap(address, bytes); }
  int move_temporary(std::byte* source, std::int64_t bytes, std::byte* target) override {
    return move_mapping(source, bytes, target);
  }
  int move(std::byte* source, std::int64_t bytes, std::byte* target) override {
    return move_pages(source, bytes, target);
  }

 private:
  Reservation reservation_ = {};
};

}  // namespace

std::unique_ptr<BlockMemory> make_host_memory() {
  return std::make_unique<HostMemory>();
}

}  // namespace tutti::lms
