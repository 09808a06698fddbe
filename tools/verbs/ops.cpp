// `reprise ops`: the registry of ops, one op in detail, or why an implementation was chosen for a shape.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "autograd/op.h"
#include "core/text.h"
#include "models/config/key.h"
#include "models/config/node.h"
#include "ops/implementation.h"
#include "ops/registry.h"
#include "tools/cli/verb.h"

namespace reprise {
namespace {

constexpr const char* kOpsHelp =
    R"(Lists every op with what its contract says: inputs, state that it updates, results, and for each gradient what
its backward formula needs. NAME shows one op in full. --why says which implementation runs an op for operands of some
shapes, and why the others were refused; operands are given as name=extents in the order of the op's inputs, images as
n,h,w,c and convolution weights as out,in,h,w, attributes by their names.

Examples:
  reprise ops
  reprise ops batch_norm
  reprise ops --why conv2d x=64,32,32,16 w=16,16,3,3 padding=1
  reprise ops --json)";

struct OpsOptions {
  std::vector<std::string> words;
  bool json = false;
  bool why = false;
};

using Names = std::vector<std::string>;

Names names_of(const std::vector<const char*>& list) { return Names(list.begin(), list.end()); }

std::string joined(const Names& names, const char* none = "-") {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? none : text;
}

std::string saved_text(const Op& op, const Saved& saved) {
  if (saved.from == Saved::From::result) return saved.name;
  for (const char* update : op.updates) {
    if (std::strcmp(update, saved.name) == 0) return std::string("old ") + saved.name;
  }
  return saved.name;
}

Names needs_of(const Op& op, const SaveRule& rule) {
  Names needs;
  for (const Saved& saved : rule.needs) needs.push_back(saved_text(op, saved));
  return needs;
}

Names pairs_of(const std::vector<Reuse>& list) {
  Names texts;
  for (const Reuse& pair : list) texts.push_back(fmt::format("{} -> {}", pair.from, pair.to));
  return texts;
}

Names saved_pairs_of(const Op& op) {
  Names texts;
  for (const SavedReuse& each : op.saved_reuse)
    texts.push_back(fmt::format("{} -> {}", saved_text(op, each.from), each.to));
  return texts;
}

std::string saves_text(const Op& op) {
  std::string text;
  for (const SaveRule& rule : op.saves) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", rule.wanted, joined(needs_of(op, rule), "nothing"));
  }
  return text.empty() ? "no gradient" : text;
}

Names flags_of(const Op& op) {
  Names flags;
  auto add = [&](bool is, const char* name) {
    if (is) flags.push_back(name);
  };
  add(op.view, "view");
  add(op.copies, "makes operands contiguous");
  add(op.draws, "draws");
  add(op.variadic, "variadic");
  add(op.strided, "strided");
  add(op.nondeterministic, "nondeterministic");
  add(op.effect, "effect");
  add(op.accumulates, "accumulates");
  add(op.fails_first, "fails first");
  add(op.outputs_ignore_updates, "outputs ignore updates");
  add(op.replays_from_keeps, "a replay reads what it keeps");
  add(op.region != nullptr, "regions");
  return flags;
}

const char* kind_name(AttrKind kind) {
  switch (kind) {
    case AttrKind::integer: return "integer";
    case AttrKind::flag: return "flag";
    case AttrKind::real: return "real";
    case AttrKind::dims: return "list of integers";
    case AttrKind::address: return "address of host code";
  }
  return "";
}

// ---- printing
void print_table() {
  std::vector<Names> rows = {{"op", "inputs", "updates", "results", "each gradient needs", "decisions", "flags"}};
  for (const Op* op : registered_ops()) {
    Names results = names_of(op->outputs);
    for (const char* made : op->made) results.push_back(fmt::format("({})", made));
    rows.push_back({op->name, joined(names_of(op->inputs)), joined(names_of(op->updates)), joined(results),
                    saves_text(*op), joined(names_of(op->decisions)), joined(flags_of(*op))});
  }
  fmt::print("{}\n{} ops. Results in () are made for the backward only. `reprise ops NAME` shows one op.\n",
             format_table(rows), registered_ops().size());
}

void print_one(const Op& op) {
  fmt::print("{}: {}\n\n", op.name, op.about);
  auto line = [](const char* what, const std::string& text) { fmt::print("  {:<22} {}\n", what, text); };
  line("inputs", joined(names_of(op.inputs)) + (op.variadic ? " (the last one repeats)" : ""));
  line("updates (state)", joined(names_of(op.updates)));
  line("outputs", joined(names_of(op.outputs)));
  line("made for the backward", joined(names_of(op.made)));
  for (const AttrSpec& attr : op.attrs)
    line(&attr == op.attrs.data() ? "attributes" : "", fmt::format("{} ({})", attr.name, kind_name(attr.kind)));
  if (op.saves.empty()) line("gradients", "none");
  for (const SaveRule& rule : op.saves) {
    line(fmt::format("gradient of {}", rule.wanted).c_str(), "needs " + joined(needs_of(op, rule), "nothing"));
  }
  line("kept, never recomputed", op.nondeterministic || op.effect ? "all results" : joined(names_of(op.decisions)));
  if (!op.keeps.empty()) line("kept because small", joined(names_of(op.keeps)));
  line("memory taken over", joined(pairs_of(op.reuse)));
  line("gradients taken over", joined(pairs_of(op.grad_reuse)));
  line("saved, taken over", joined(saved_pairs_of(op)));
  line("gradients handed on", joined(pairs_of(op.passes)));
  line("flags", joined(flags_of(op)));
}

nlohmann::ordered_json to_json(const Op& op) {
  nlohmann::ordered_json json;
  json["name"] = op.name;
  json["about"] = op.about;
  json["inputs"] = names_of(op.inputs);
  json["updates"] = names_of(op.updates);
  json["outputs"] = names_of(op.outputs);
  json["made"] = names_of(op.made);
  json["attrs"] = nlohmann::ordered_json::array();
  for (const AttrSpec& attr : op.attrs) json["attrs"].push_back({{"name", attr.name}, {"kind", kind_name(attr.kind)}});
  json["saves"] = nlohmann::ordered_json::object();
  for (const SaveRule& rule : op.saves) json["saves"][rule.wanted] = needs_of(op, rule);
  json["decisions"] = names_of(op.decisions);
  json["keeps"] = names_of(op.keeps);
  json["reuse"] = pairs_of(op.reuse);
  json["grad_reuse"] = pairs_of(op.grad_reuse);
  json["saved_reuse"] = saved_pairs_of(op);
  json["passes"] = pairs_of(op.passes);
  json["flags"] = flags_of(op);
  return json;
}

// ---- --why
const Op& op_named(const std::string& name) {
  if (const Op* op = find_op(name)) return *op;
  Names known;
  for (const Op* op : registered_ops()) known.push_back(op->name);
  // The beginning of a name means that name: conv is conv2d.
  auto begins = std::find_if(known.begin(), known.end(),
                             [&](const std::string& k) { return !name.empty() && k.starts_with(name); });
  std::string nearest = begins != known.end() ? *begins : nearest_name(name, known);
  fail(ErrorKind::user, "[ops] expected a known op, got {}. {}", quoted_for_message(name),
       nearest.empty() ? "`reprise ops` lists them" : "Nearest is " + nearest);
}

Dims dims_of(const std::string& word, const std::string& text) {
  Dims dims;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t end = std::min(text.find(',', at), text.size());
    std::string number = text.substr(at, end - at);
    std::size_t used = 0;
    std::int64_t value = -1;
    try {
      value = std::stoll(number, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != number.size() || value < 0) {
      fail(ErrorKind::user, "[ops] expected extents such as x=64,32,32,16, got {}", quoted_for_message(word));
    }
    dims.push_back(value);
    at = end + 1;
  }
  return dims;
}

struct WhyArguments {
  std::vector<Shape> shapes;
  DType dtype = DType::f32;
  std::vector<std::pair<std::string, Dims>> attrs;  // by name
};

/// Whether `given` means the attribute: its name, or its name without the axis (stride for stride_h and stride_w).
bool means(const std::string& given, const AttrSpec& spec) {
  std::string name = spec.name;
  return given == name || name == given + "_h" || name == given + "_w";
}

/// Attributes in the order that the op declares them; those not given have the value that changes nothing.
Attrs attrs_of(const Op& op, const WhyArguments& arguments) {
  Attrs attrs;
  for (const AttrSpec& spec : op.attrs) {
    std::string name = spec.name;
    bool one = name.starts_with("stride") || name.starts_with("dilation") || name == "groups";
    Dims value{one ? 1 : 0};
    for (const auto& [given, dims] : arguments.attrs) {
      if (!means(given, spec)) continue;
      value = Dims{dims.size() == 2 && name.ends_with("_w") ? dims[1] : dims[0]};
    }
    if (spec.kind == AttrKind::dims)
      attrs.add(value);
    else if (spec.kind == AttrKind::real)
      attrs.add(static_cast<double>(value[0]));
    else
      attrs.add(value[0]);
  }
  return attrs;
}

/// Operands go by their order, and their names may be shortened (w for weight); a mistyped attribute is none.
void refuse_unless_operand(const Op& op, const std::string& name) {
  Names known = names_of(op.inputs);
  for (const char* update : op.updates) known.push_back(update);
  bool fits = std::any_of(known.begin(), known.end(),
                          [&](const std::string& operand) { return !name.empty() && operand.starts_with(name); });
  if (fits) return;
  for (const AttrSpec& attr : op.attrs) {
    std::string attribute = attr.name;
    if (attribute.ends_with("_h") || attribute.ends_with("_w")) attribute.resize(attribute.size() - 2);
    if (std::find(known.begin(), known.end(), attribute) == known.end()) known.push_back(attribute);
  }
  known.push_back("dtype");
  std::string nearest = nearest_name(name, known);
  fail(ErrorKind::user, "[ops] expected an operand or attribute of {} ({}), got {}{}", op.name, joined(known),
       quoted_for_message(name), nearest.empty() ? "" : ". Nearest is " + nearest);
}

WhyArguments read_arguments(const Op& op, const std::vector<std::string>& words) {
  WhyArguments arguments;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t equals = words[i].find('=');
    if (equals == std::string::npos)
      fail(ErrorKind::user, "[ops] expected name=extents, got {}", quoted_for_message(words[i]));
    std::string name = words[i].substr(0, equals), value = words[i].substr(equals + 1);
    if (name == "dtype") {
      if (value != "f32" && value != "f64")
        fail(ErrorKind::user, "[ops] expected dtype=f32 or dtype=f64, got {}", quoted_for_message(value));
      arguments.dtype = value == "f64" ? DType::f64 : DType::f32;
      continue;
    }
    bool attribute =
        std::any_of(op.attrs.begin(), op.attrs.end(), [&](const AttrSpec& spec) { return means(name, spec); });
    if (!attribute) refuse_unless_operand(op, name);
    Dims dims = dims_of(words[i], value);
    if (attribute) {
      arguments.attrs.emplace_back(name, dims);
    } else {
      element_count(dims);  // refuses what is too large for any kernel to be asked about
      arguments.shapes.push_back(dims);
    }
  }
  if (static_cast<int>(arguments.shapes.size()) > op.input_count()) {
    fail(ErrorKind::user, "[ops] {} expected at most the operands {}, got {}", op.name, joined(names_of(op.inputs)),
         arguments.shapes.size());
  }
  return arguments;
}

int explain_choice(const OpsOptions& options) {
  if (options.words.empty())
    fail(ErrorKind::user, "[ops] --why expects an op and its operands: --why conv2d x=64,32,32,16 w=16,16,3,3");
  const Op& op = op_named(options.words[0]);
  WhyArguments arguments = read_arguments(op, options.words);
  fmt::print("{}", describe(why(op, arguments.shapes, arguments.dtype, attrs_of(op, arguments))));
  return 0;
}

int run(const OpsOptions& options) {
  register_builtin_ops();
  if (options.why) return explain_choice(options);
  if (options.words.size() > 1) fail(ErrorKind::user, "[ops] expected at most one op, got {}", options.words.size());
  if (options.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Op* op : registered_ops()) {
      if (options.words.empty() || op == &op_named(options.words[0])) json.push_back(to_json(*op));
    }
    fmt::print("{}\n", json.dump(2));
  } else if (options.words.empty()) {
    print_table();
  } else {
    print_one(op_named(options.words[0]));
  }
  return 0;
}

}  // namespace

Verb ops_verb() {
  return {"ops", "list the ops and their contracts, or explain the choice of a kernel", kOpsHelp,
          [](Command& app) -> VerbAction {
            auto options = std::make_shared<OpsOptions>();
            app.add_option("words", options->words, "an op; with --why its operands too")
                .option_text("[NAME] [operand=extents...]");
            app.add_flag("--json", options->json, "as JSON");
            app.add_flag("--why", options->why, "which implementation runs these operands, and why not the others");
            return [options] { return run(*options); };
          }};
}

}  // namespace reprise
