// What can be said of a program's names before it runs: each one that a statement mentions is declared, or bound
// somewhere in a scope that the statement may see. Whether it is bound by then, only the run can tell.
#include <set>

#include "tools/conform/program.h"

namespace reprise::conform {

namespace {

using Names = std::set<std::string>;

void collect_bound(const std::vector<Statement>& body, Names& names) {
  for (const Statement& s : body) {
    if (!s.out.empty()) names.insert(s.out);
    names.insert(s.outs.begin(), s.outs.end());
    collect_bound(s.body, names);
    collect_bound(s.otherwise, names);
  }
}

/// Whether `target` is a name of a scope, and not of a stream, context or segment.
bool targets_an_object(Do kind) {
  return kind == Do::write || kind == Do::set || kind == Do::bump || kind == Do::append || kind == Do::on_grad ||
         kind == Do::grad;
}

void check(const std::vector<Statement>& body, const Names& known, const JsonCursor& top) {
  for (const Statement& s : body) {
    auto need = [&](const std::string& name) {
      if (name.empty() || known.count(name)) return;  // empty: a number, or none
      top.refuse("the statement at {} names '{}', which is neither declared nor bound by any statement it can see",
                 s.path, name);
    };
    for (const Operand& operand : s.in) need(operand.name);
    need(s.value.name);
    if (s.region.rows_from) need(s.region.rows_from->name);
    if (targets_an_object(s.kind)) need(s.target);
    check(s.body, known, top);
    check(s.otherwise, known, top);
  }
}

}  // namespace

void require_names(const Program& program, const JsonCursor& top) {
  Names main;
  auto declare = [&](const auto& map) {
    for (const auto& [name, item] : map) main.insert(name);
  };
  declare(program.inputs);
  declare(program.buffers);
  declare(program.views);
  declare(program.cells);
  collect_bound(program.main, main);
  check(program.main, main, top);
  for (const auto& [name, segment] : program.segments) {
    Names known = main;  // main's values are seen from segments too
    known.insert(segment.args.begin(), segment.args.end());
    collect_bound(segment.body, known);
    check(segment.body, known, top);
    for (const std::string& out : segment.out) {
      if (!known.count(out))
        top.at("segments").at(name).at("out").refuse("'{}' is bound by no statement of the segment", out);
    }
  }
}

}  // namespace reprise::conform
