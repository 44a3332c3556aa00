#include "tutti/kernels/amx/amx.h"

#include <cpuid.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "tutti/core/cpu_isa.h"

// oneDNN 2.6 reads the tile palette from CPUID leaf 0x1d. Some hypervisors pass the AMX flags but leave that leaf
// empty. oneDNN then configures palette 0 ("no tiles"), and its next tile instruction is illegal. This function
// overrides the exported one of oneDNN and sets the only existing palette if the configuration has none.
namespace dnnl::impl::cpu::x64 {

__attribute__((visibility("default"))) int amx_tile_configure(const char* palette) {
  struct Configuration {
    char bytes[64];
  } configuration;
  std::memcpy(configuration.bytes, palette, sizeof configuration);
  if (configuration.bytes[0] == 0) configuration.bytes[0] = 1;
#ifdef __x86_64__
  __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00"  // ldtilecfg [rax]
                   :
                   : "a"(&configuration), "m"(configuration)
                   : "memory");
#endif
  return 0;
}

}  // namespace dnnl::impl::cpu::x64

namespace tutti::kernels {
namespace {

Amx found = Amx::kAbsent;

struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(unsigned number, unsigned part) {
  Leaf leaf;
  if (number <= __get_cpuid_max(0, nullptr))
    __cpuid_count(number, part, leaf.a, leaf.b, leaf.c, leaf.d);
  return leaf;
}

bool is_advertised() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  const unsigned flags = cpuid(7, 0).d;
  return (flags & kBf16) && (flags & kTile);
}

bool is_allowed() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_palette() {
  return cpuid(0x1d, 0).a >= 1;
}

}  // namespace

Amx prepare_amx() {
  if (!is_advertised() || max_cpu_isa() < CpuIsa::kAmx) return found = Amx::kAbsent;
  if (!is_allowed()) {
    setenv("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
    return found = Amx::kBroken;
  }
  if (getenv("DNNL_MAX_CPU_ISA") || getenv("ONEDNN_MAX_CPU_ISA")) return found = Amx::kAbsent;
  return found = has_palette() ? Amx::kReady : Amx::kRepaired;
}

std::string text_of(Amx amx) {
  switch (amx) {
    case Amx::kReady: return "AMX";
    case Amx::kRepaired: return "AMX (its CPUID leaf repaired)";
    case Amx::kBroken: return "AMX (unusable here)";
    default: return "";
  }
}

bool has_matrix_units() {
  return found == Amx::kReady || found == Amx::kRepaired;
}

}  // namespace tutti::kernels
