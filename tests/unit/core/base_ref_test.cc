#include "core/base_ref.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace drover {
namespace {

using Refs = std::vector<std::string>;

TEST(BaseRef, NamesBranchesTagsAndRemoteBranches) {
  EXPECT_EQ(*refs_of_base("HEAD"), Refs{"HEAD"});
  EXPECT_EQ(*refs_of_base("release/2"),
            (Refs{"refs/heads/release/2", "refs/tags/release/2", "refs/remotes/release/2"}));
  EXPECT_EQ(*refs_of_base("refs/tags/v1"), Refs{"refs/tags/v1"});
  EXPECT_EQ(*refs_of_base("refs/remotes/origin/main"), Refs{"refs/remotes/origin/main"});
  EXPECT_EQ(*refs_of_base("refs/remotes/origin"), Refs{"refs/remotes/origin"});
  EXPECT_TRUE(refs_of_base("origin/main"));
}

TEST(BaseRef, RefusesWhatIsNoName) {
  for (const std::string& base :
       {std::string(), std::string(256, 'a'), std::string("--upload-pack=x"), std::string("ma\0in", 5),
        std::string("a b"), std::string("a\x7f"), std::string("main~1"), std::string("a..b"), std::string("@{u}"),
        std::string("a//b"), std::string("/a"), std::string("a/"), std::string("a."), std::string("@"),
        std::string(".a"), std::string("a/.b"), std::string("a.lock"), std::string("a.lock/b")}) {
    const auto refs = refs_of_base(base);
    ASSERT_FALSE(refs) << base;
    EXPECT_EQ(refs.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(refs.error().message.contains("is not the name of a ref; name HEAD")) << refs.error().message;
  }
}

TEST(BaseRef, KnowsTheFullIdOfACommit) {
  EXPECT_TRUE(is_commit_id(std::string(40, 'a')));
  EXPECT_TRUE(is_commit_id(std::string(64, '0')));
  for (const std::string& base : {std::string(39, 'a'), std::string(40, 'g'), std::string(40, 'A'), std::string()})
    EXPECT_FALSE(is_commit_id(base)) << base;
  EXPECT_TRUE(refs_of_base(std::string(40, 'a'))) << "it may also be the name of a branch";
}

TEST(BaseRef, RefusesTheWorkOfOtherTasks) {
  for (const char* base : {"refs/drover/x", "refs/notes/commits", "drover/x", "refs/heads/drover/x",
                           "refs/remotes/origin/drover/x", "origin/drover/x"}) {
    EXPECT_FALSE(refs_of_base(base)) << base;
  }
}

}  // namespace
}  // namespace drover
