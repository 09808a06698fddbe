// The completion scripts of zsh and fish in these shells themselves: what Tab offers behind a line. (bash:
// adoption_test.cpp.)
#include <gtest/gtest.h>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

/// A shell of a terminal of its own types the line and Tab; what the completion adds is printed before it is inserted.
constexpr const char* kZshTypes = R"(zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./rc.zsh'
while zpty -r shell line; do [[ $line == *ready* ]] && break; done
zpty -w shell "$1"$'\t'
integer seen=0
while zpty -r shell line; do
  if [[ $line == *BEGIN* ]]; then seen=1
  elif [[ $line == *END* ]]; then break
  elif (( seen )); then print -r -- ${line%%$'\r'*}
  fi
done
zpty -d shell
)";
constexpr const char* kZshRc = R"(PROMPT=
autoload -U compinit
compinit -u -D
source ./script
bindkey '^I' complete-word
_begin() { print BEGIN }
_end() { print END; exit }
compprefuncs=(_begin)
comppostfuncs=(_end)
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  local hit
  for hit in $hits; do print -r -- "$IPREFIX$hit"; done
  builtin compadd "$@"
}
print ready
)";

class Completion : public ::testing::Test {
 protected:
  /// False where there is no such shell.
  bool take(const std::string& shell) {
    if (run_shell("command -v " + shell + " >/dev/null 2>&1").code != 0) return false;
    Outcome made = reprise("completion " + shell);
    EXPECT_EQ(made.code, 0) << made.text;
    write("script", made.text);
    write("types.zsh", kZshTypes);
    write("rc.zsh", kZshRc);
    write("tiny.yaml", "");
    fs::create_directories(folder_ / "runs" / "first");
    return true;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::string in_folder(const std::string& command) const {
    const std::string folder = shell_word(folder_.path().string());
    return run_shell("cd " + folder + " && HOME=" + folder + " TERM=xterm timeout 120 " + command + " 2>&1").text;
  }

  TempFolder folder_;
};

TEST_F(Completion, ZshOffersVerbsOptionsKeysValuesAndFiles) {
  if (!take("zsh")) GTEST_SKIP() << "needs zsh";
  auto offered = [&](const std::string& line) { return in_folder("zsh -f types.zsh " + shell_word(line)); };
  EXPECT_EQ(offered("reprise tra"), "train\n");
  EXPECT_EQ(offered("reprise train --re"), "--resume\n");
  EXPECT_EQ(offered("reprise train tiny.yaml recompute.met"), "recompute.method=\n");
  EXPECT_EQ(offered("reprise train recompute.granularity="),
            "recompute.granularity=segment\nrecompute.granularity=node\n");
  EXPECT_EQ(offered("reprise train data.path=ti"), "data.path=tiny.yaml\n");
  EXPECT_EQ(offered("reprise train threads="), "");
  EXPECT_EQ(offered("reprise bench --preset "), "small\nresnet18\n");
  EXPECT_EQ(offered("reprise completion z"), "zsh\n");
  EXPECT_EQ(offered("reprise study gra"), "granularities=\n");
}

TEST_F(Completion, FishOffersVerbsOptionsKeysValuesAndFiles) {
  if (!take("fish")) GTEST_SKIP() << "needs fish";
  // A column with what it means may follow each.
  auto offered = [&](const std::string& line) {
    return in_folder("fish --no-config -c 'source ./script; complete -C \"" + line + "\"' | cut -f1 | sort");
  };
  EXPECT_EQ(offered("reprise tra"), "train\n");
  EXPECT_EQ(offered("reprise train --re"), "--resume\n");
  EXPECT_EQ(offered("reprise train tiny.yaml recompute.met"), "recompute.method=\n");
  EXPECT_EQ(offered("reprise train recompute.granularity=s"), "recompute.granularity=segment\n");
  EXPECT_EQ(offered("reprise train data.path=ti"), "data.path=tiny.yaml\n");
  EXPECT_EQ(offered("reprise eval runs/"), "runs/first/\n");
  EXPECT_EQ(offered("reprise bench --preset "), "resnet18\nsmall\n");
  EXPECT_EQ(offered("reprise completion z"), "zsh\n");
  EXPECT_EQ(offered("reprise study gra"), "granularities=\n");
}

}  // namespace
}  // namespace reprise
