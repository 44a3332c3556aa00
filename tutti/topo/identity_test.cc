#include "tutti/topo/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/core/error.h"

namespace tutti::topo {
namespace {

using testing::HasSubstr;

TEST(Identity, OfThisProcessIsStableAndReadBack) {
  ::unsetenv("TUTTI_HOST_ID");
  const HostIdentity identity = this_host_identity();
  EXPECT_EQ(identity, this_host_identity());
  EXPECT_EQ(parse_identity(to_text(identity)), identity);
  EXPECT_EQ(why_apart(identity, this_host_identity()), "");
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
  EXPECT_THAT(why_apart(first, second), HasSubstr("TUTTI_HOST_ID"));
  EXPECT_THAT(why_apart(first, this_host_identity()), HasSubstr("TUTTI_HOST_ID"));
  HostIdentity joined = second;
  joined.network_namespace = "1";
  joined.boot_id = "other";
  EXPECT_EQ(why_apart(second, joined), "");
}

TEST(Identity, NamesDoNotDecideButMachinesDo) {
  const HostIdentity one = {.name = "a",
                            .boot_id = "1",
                            .network_namespace = "7",
                            .process_namespace = "8",
                            .host_id = ""};
  HostIdentity other = one;
  other.name = "b";
  EXPECT_EQ(why_apart(one, other), "");
  other.boot_id = "2";
  EXPECT_THAT(why_apart(one, other), HasSubstr("different machines"));
  other = one;
  other.network_namespace = "9";
  EXPECT_THAT(why_apart(one, other), HasSubstr("network namespaces"));
  other = one;
  other.process_namespace = "9";
  EXPECT_THAT(why_apart(one, other), HasSubstr("process namespaces"));
}

TEST(Identity, WithoutBootIdTheNameIsTheHint) {
  EXPECT_EQ(why_apart({.name = "a"}, {.name = "a"}), "");
  EXPECT_THAT(why_apart({.name = "a"}, {.name = "b"}), HasSubstr("different names"));
}

}  // namespace
}  // namespace tutti::topo
