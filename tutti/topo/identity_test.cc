#include "tutti/topo/identity.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/core/error.h"

namespace tutti::topo {
namespace {

TEST(Identity, OfThisProcessIsStableAndReadBack) {
  ::unsetenv("TUTTI_HOST_ID");
  const HostIdentity identity = this_host_identity();
  EXPECT_EQ(identity, this_host_identity());
  EXPECT_EQ(parse_identity(to_text(identity)), identity);
}

TEST(Identity, EmptyFieldsAreReadBack) {
  EXPECT_EQ(parse_identity(to_text(HostIdentity{})), HostIdentity{});
  EXPECT_THROW(parse_identity("something else"), ConfigError);
}

TEST(Identity, EnvironmentDecidesWhereItIsSet) {
  ::setenv("TUTTI_HOST_ID", "first host", 1);
  const HostIdentity first = this_host_identity();
  ::setenv("TUTTI_HOST_ID", "second", 1);
  const HostIdentity second = this_host_identity();
  ::unsetenv("TUTTI_HOST_ID");
  EXPECT_EQ(first.host_id, "first_host");
  EXPECT_NE(sharing_key(first), sharing_key(second));
  EXPECT_NE(sharing_key(first), sharing_key(this_host_identity()));
  HostIdentity joined = second;
  joined.network_namespace = "1";
  joined.boot_id = "other";
  EXPECT_EQ(sharing_key(second), sharing_key(joined));
}

TEST(Identity, NamesDoNotDecideButMachinesDo) {
  const HostIdentity one = {
      .name = "a", .boot_id = "1", .network_namespace = "7", .pid_namespace = "8", .host_id = ""};
  HostIdentity other = one;
  other.name = "b";
  EXPECT_EQ(sharing_key(one), sharing_key(other));
  other.boot_id = "2";
  EXPECT_NE(sharing_key(one), sharing_key(other));
  other = one;
  other.network_namespace = "9";
  EXPECT_NE(sharing_key(one), sharing_key(other));
  other = one;
  other.pid_namespace = "9";
  EXPECT_NE(sharing_key(one), sharing_key(other));
}

TEST(Identity, WithoutBootIdTheNameIsTheHint) {
  EXPECT_EQ(sharing_key({.name = "a"}), sharing_key({.name = "a"}));
  EXPECT_NE(sharing_key({.name = "a"}), sharing_key({.name = "b"}));
}

}  // namespace
}  // namespace tutti::topo
