// What `reprise doctor` finds out about the program and the machine: facts in sections, and notes on what may be amiss.
// Nothing in it names a person, a file of theirs or the machine's name, so that it can be pasted into a report.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reprise::doctor {

struct Section {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
};

Section program();       // version, compiler, flags, libraries
Section processor();     // model, cores, instruction sets, threads
Section memory();        // of the machine, of this process's group, page sizes
Section convolutions();  // which kernel runs the shapes of the presets
Section cuda();          // toolkit of the build, driver, devices

/// In words, what may make runs slow or fail here; empty when nothing was found.
std::vector<std::string> notes();

}  // namespace reprise::doctor
