// The types of studies, one line each, and the keys that every study file has.
#include <filesystem>

#include "tools/study/application.h"
#include "tools/study/sparse_write.h"
#include "tools/study/study_type.h"

namespace reprise::study {

const std::vector<RegisteredType>& study_types() {
  static const std::vector<RegisteredType> all = {
      sparse_write_type(),
      cifar100_dense_queue_type(),
  };
  return all;
}

Schema study_schema() {
  Schema schema("type", "reprise study --reference");
  schema.add({
      choice_key("type", study_types().front().keys.name, {}, "what is measured; it decides which other keys exist"),
      text_key("name", "", "the study's name, which stands in every record; empty: that of the file"),
      integer_key("seed", 1, at_least(0), "",
                  "the number from which the order of processes and every bootstrap follow"),
      integer_key("threads", 2, between(1, 1024), "threads", "threads of each measuring process"),
      duration_key("limit", 80 * 60, at_least(0),
                   "longest time that the study is meant to take; a warning where more is expected"),
  });
  for (const RegisteredType& type : study_types()) schema.add_model_type(type.keys);
  return schema;
}

Config load_study(const std::string& file, const std::vector<OverrideText>& overrides) {
  Config study = load_numbered_config(file, overrides, study_schema());
  if (study.get_string("name").empty()) study.set("name", study.name(), "the file's name");
  for (char c : study.get_string("name")) {
    bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    if (!plain)
      throw study.error_at("name", "expected letters, digits, '_', '-' and '.', since a folder is named by it");
  }
  return study;
}

std::unique_ptr<StudyType> make_study_type(const std::string& type) {
  for (const RegisteredType& known : study_types()) {
    if (known.keys.name == type) return known.make();
  }
  fail(ErrorKind::user, "[study] expected a known type of study, got '{}'", type);
}

std::string beside_study(const Config& study, const std::string& name) {
  std::filesystem::path path(name);
  if (path.is_absolute() || study.file().empty()) return name;
  return (std::filesystem::path(study.file()).parent_path() / path).lexically_normal().string();
}

}  // namespace reprise::study
