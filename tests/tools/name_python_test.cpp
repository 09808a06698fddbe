// How `tools/test --full` comes by a Python with the packages that read our files back: the caller's own, or one that
// is made once; and where none can be made it goes on and says why. The real python3 has a stand-in here.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

namespace fs = std::filesystem;

class NamePython : public ::testing::Test {
 protected:
  /// Exit codes of a python3: of importing the packages, of making an environment, of pip in that environment.
  void stand_in(int packages, int venv, int pip) const {
    program("bin/python3",
            "case \"$*\" in\n"
            "  '-c import'*) exit " +
                std::to_string(packages) +
                " ;;\n"
                "  '-m venv '*) echo 'ensurepip is not available' >&2\n"
                "    mkdir -p \"$3/bin\" && cp " +
                path("made") +
                " \"$3/bin/python\"\n"
                "    exit " +
                std::to_string(venv) +
                " ;;\n"
                "esac\n");
    program("made", "echo \"$*\" >>" + path("calls") + "\necho 'ERROR: No matching distribution' >&2\nexit " +
                        std::to_string(pip) + "\n");
  }

  /// What is said, and on the last line the exit code and the Python that is named.
  std::string said() const {
    Outcome outcome = run_shell("PATH=" + path("bin") +
                                ":$PATH bash -c 'set -u; unset REPRISE_PYTHON; root=$1; source \"$1/tools/setup.sh\"; "
                                "name_python \"$2\"; echo \"$? ${REPRISE_PYTHON:-none}\"' test " +
                                shell_word(REPRISE_SOURCE_DIR) + " " + path("build") + " 2>&1");
    EXPECT_EQ(outcome.code, 0);
    return outcome.text;
  }

  std::string path(const std::string& name) const { return shell_word((folder_ / name).string()); }

  TempFolder folder_;

 private:
  void program(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    fs::create_directories(folder_ / "build");
    write_text(folder_ / name, "#!/bin/sh\n" + text);
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
};

TEST_F(NamePython, OneThatHasThePackagesIsTakenAsItIs) {
  stand_in(0, 1, 1);
  EXPECT_EQ(said(), "0 none\n");
  EXPECT_FALSE(fs::exists(folder_ / "build/python"));
}

TEST_F(NamePython, AnEnvironmentIsMadeOnce) {
  stand_in(1, 0, 0);
  const std::string named = "0 " + (folder_ / "build/python/bin/python").string() + "\n";
  EXPECT_PRED2(contains, said(), named);
  EXPECT_EQ(said(), named) << "the second time there is nothing to say";
  EXPECT_EQ(file_text(folder_ / "calls"),
            "-m pip install -q --retries 1 -r " REPRISE_SOURCE_DIR "/tests/requirements.txt\n");
}

TEST_F(NamePython, WhereNoneCanBeMadeItSaysWhyAndGoesOn) {
  stand_in(1, 1, 0);
  std::string text = said();
  EXPECT_PRED2(contains, text, "tests that need it will skip");
  EXPECT_PRED2(contains, text, "ensurepip is not available\n0 none\n");
  stand_in(1, 0, 1);
  EXPECT_PRED2(contains, said(), "\n0 none\n");
  EXPECT_FALSE(fs::exists(folder_ / "build/python")) << "half an environment is none";
}

}  // namespace
}  // namespace reprise
