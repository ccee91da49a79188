// Kernels kept on disk, seen from whole processes: nothing is compiled twice, nothing wrong is ever loaded, and
// whatever happens to the directory, results are right.
#include "jit/cache/entry.hpp"
#include "tests/backend/cache_process.hpp"
#include "tests/backend/expect.hpp"

#include <sinter/cache.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <thread>

#include <sys/stat.h>

using namespace sinter;
using namespace sinter_test;
namespace fs = std::filesystem;

namespace {

std::map<std::string, timespec> times_of(const std::string& folder) {
  std::map<std::string, timespec> all;
  for (const std::string& f : kernel_files(folder)) {
    struct stat s;
    if (stat(f.c_str(), &s) == 0) all[f] = s.st_mtim;
  }
  return all;
}

// arrayfire#2503, cupy#7391, cupy#10173: every start compiled, or wrote the files again.
TEST_F(kept, a_second_process_compiles_nothing_and_writes_nothing) {
  const process_result first = run({{"TEST_KERNELS", "3"}});
  ASSERT_TRUE(first.good()) << first.output;
  EXPECT_EQ(first.number("compiles"), 3u);
  EXPECT_EQ(first.number("absent"), 3u);
  EXPECT_EQ(first.number("disk_hits"), 0u);
  EXPECT_GT(first.number("bytes_written"), 3000u);
  EXPECT_GT(first.number("compile_microseconds"), 1000u);
  EXPECT_EQ(kernel_files(folder).size(), 3u);
  const auto before = times_of(folder);
  const process_result second = run({{"TEST_KERNELS", "3"}, {"TEST_MAPS", "1"}});
  ASSERT_TRUE(second.good()) << second.output;
  EXPECT_EQ(second["right"], "1");
  EXPECT_EQ(second.number("compiles"), 0u);
  EXPECT_EQ(second.number("disk_hits"), 3u);
  EXPECT_EQ(second.number("bytes_read"), first.number("bytes_written"));
  EXPECT_EQ(second.number("bytes_written"), 0u);
  EXPECT_EQ(second.number("compile_microseconds"), 0u);
  EXPECT_GT(second.number("load_microseconds"), 0u);
  EXPECT_EQ(second["has_nvrtc"], "0");
  const auto after = times_of(folder);
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, time] : before) {
    EXPECT_EQ(time.tv_sec, after.at(name).tv_sec);
    EXPECT_EQ(time.tv_nsec, after.at(name).tv_nsec);
  }
}

// triton#704 and others: addresses, or the order of other work, in keys.
// warp#1696, #1284
TEST_F(kept, other_work_before_changes_no_key) {
  expect_run({{"TEST_KERNELS", "2"}}, 2);
  const process_result r = run({{"TEST_KERNELS", "2"}, {"TEST_BEFORE", "1"}});
  EXPECT_EQ(r.number("new_compiles"), 0u) << r.output;
}

TEST_F(kept, modes_say_what_is_read_and_written) {
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CACHE", "memory"}}, 1);
  EXPECT_FALSE(fs::exists(folder));
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CACHE", "read_only"}}, 1);
  EXPECT_FALSE(fs::exists(folder));
  expect_run({{"TEST_KERNELS", "1"}}, 1);
  expect_run({{"TEST_KERNELS", "2"}, {"SINTER_CACHE", "read_only"}}, 1);
  EXPECT_EQ(kernel_files(folder).size(), 1u);
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CACHE", "off"}}, 1);
  expect_run({{"TEST_KERNELS", "1"}, {"SINTER_CACHE", "memory"}}, 1);
}

TEST_F(kept, off_compiles_at_each_evaluation) {
  struct finally {
    cache_options before = get_cache();
    ~finally() { set_cache(before); }
  } restore;
  const array x = counting(f32, {10}).to_device();
  set_cache({.mode = cache_mode::off});
  EXPECT_EQ(get_cache().mode, cache_mode::off);
  const statistics s = counted([&] {
    for (int k = 0; k < 2; ++k) EXPECT_EQ((x * 71 - 1)(2).item<float>(), 141.f);
  });
  EXPECT_EQ(s.compiles, 2u);
}

// DeepGEMM#301, GraphBLAS#449, AdaptiveCpp#2071 and others: processes that disturb each other.
TEST_F(kept, sixteen_processes_compile_each_kernel_once_between_them) {
  constexpr int processes = 16, kernels = 3;
  std::vector<std::unique_ptr<cache_process>> all;
  for (int k = 0; k < processes; ++k)
    all.push_back(std::make_unique<cache_process>(with({{"TEST_KERNELS", std::to_string(kernels)}})));
  std::uint64_t compiles = 0, found = 0;
  for (const auto& p : all) {
    const process_result r = p->wait();
    ASSERT_TRUE(r.good()) << r.output;
    EXPECT_EQ(r["right"], "1");
    compiles += r.number("compiles");
    found += r.number("disk_hits");
  }
  EXPECT_EQ(compiles, static_cast<std::uint64_t>(kernels));
  EXPECT_EQ(found, static_cast<std::uint64_t>(kernels * (processes - 1)));
  EXPECT_EQ(kernel_files(folder).size(), static_cast<std::size_t>(kernels));
}

// cumo#526: files without contents from processes that died.
TEST_F(kept, killed_writers_leave_nothing_wrong) {
  for (int k = 0; k < 20; ++k) {
    cache_process p(with({{"TEST_KERNELS", "4"}}));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 23 * k));
    p.kill();
    p.wait();
    if (k % 5 == 4) fs::remove_all(folder);
  }
  for (int k = 0; k < 3; ++k) {
    cache_process p(with({{"TEST_KERNELS", "4"}}));
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + 60 * k));
    p.kill();
  }
  const process_result r = run({{"TEST_KERNELS", "4"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.number("damaged"), 0u);
  EXPECT_EQ(r.number("foreign"), 0u);
  expect_run({{"TEST_KERNELS", "4"}}, 0);
}

// openmm#2847, cupy#9463, flashinfer#4062: what is broken in the cache surfaced as errors of the driver.
TEST_F(kept, damaged_files_are_rebuilt_silently_and_repaired) {
  expect_run({{"TEST_KERNELS", "2"}}, 2);
  const std::vector<std::string> files = kernel_files(folder);
  ASSERT_EQ(files.size(), 2u);
  const std::string good = read_file(files[0]), other = read_file(files[1]);
  std::map<std::string, std::string> bad{{"empty", ""},
                                         {"half", good.substr(0, good.size() / 2)},
                                         {"without its last byte", good.substr(0, good.size() - 1)},
                                         {"longer", good + "x"},
                                         {"another kernel's", other}};
  for (const std::size_t k : {std::size_t{0}, std::size_t{9}, std::size_t{20}, good.size() / 3, good.size() - 1}) {
    std::string flipped = good;
    flipped[k] = static_cast<char>(flipped[k] ^ 16);
    bad["flipped at " + std::to_string(k)] = flipped;
  }
  for (const auto& [how, text] : bad) {
    write_file(files[0], text);
    const process_result r = run({{"TEST_KERNELS", "2"}});
    ASSERT_TRUE(r.good()) << how << r.output;
    EXPECT_EQ(r["right"], "1") << how;
    EXPECT_EQ(r.number("compiles"), 1u) << how;
    EXPECT_EQ(r.number("damaged") + r.number("foreign"), 1u) << how;
    EXPECT_EQ(r.count("sinter:"), 0) << r.output;
    EXPECT_EQ(read_file(files[0]).size(), good.size()) << how;
  }
  expect_run({{"TEST_KERNELS", "2"}}, 0);
}

// A device may refuse what the checksum says is whole: a library of another system, code for another driver
// (gpuowl#31).
TEST_F(kept, what_cannot_be_loaded_is_compiled_again) {
  expect_run({{"TEST_KERNELS", "1"}}, 1);
  const std::string path = kernel_files(folder).at(0), good = read_file(path);
  const auto e = jit::read_entry(std::as_bytes(std::span(good)));
  ASSERT_TRUE(e);
  const std::string nonsense = "no code at all";
  write_file(path, jit::entry_bytes({std::string(e->task), std::string(e->target), std::string(e->maker)},
                                    std::as_bytes(std::span(nonsense))));
  const process_result r = run({{"TEST_KERNELS", "1"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.number("unloadable"), 1u);
  EXPECT_EQ(r.number("compiles"), 1u);
  expect_run({{"TEST_KERNELS", "1"}}, 0);
}

// C10
TEST_F(kept, one_text_in_two_objects_is_one_kernel) {
  const auto make = [] { return elementwise("twin", "T x", "T y", "y = x * 1234 - 7"); };
  const elementwise f = make(), g = make();
  const array x = counting(f32, {10}).to_device(), y = f(x), z = g(x);
  EXPECT_EQ(counted([&] { eval(y); }).compiles, 1u);
  const statistics s = counted([&] { eval(z); });
  EXPECT_EQ(s.compiles, 0u);
  EXPECT_EQ(s.cache_hits, 1u);
  EXPECT_EQ(s.synchronizations, 0u);
}

// C04, cupy#3587: the headers that a kernel includes.
// cupy#9664, #8588, #8927
TEST_F(kept, an_edited_header_makes_another_kernel) {
  const std::string headers = scratch.path() + "/include";
  fs::create_directory(headers);
  for (const auto& [value, compiles] : {std::pair{"1", 1u}, {"1", 0u}, {"2", 1u}, {"2", 0u}, {"1", 0u}}) {
    write_file(headers + "/value.h", "#include \"deep.h\"\n");
    write_file(headers + "/deep.h", std::string("#define VALUE ") + value + "\n");
    const process_result r = run({{"TEST_INCLUDE", headers}});
    ASSERT_TRUE(r.good()) << r.output;
    EXPECT_EQ(r["included"], value == std::string("1") ? "2" : "3");
    EXPECT_EQ(r.number("new_compiles"), r.number("compiles"));
    // The element's own read is a kernel, too: it is there from the first run on.
    if (compiles == 0) EXPECT_EQ(r.number("compiles"), 0u) << value << r.output;
    else EXPECT_GE(r.number("compiles"), 1u) << value;
  }
}

// cupy#4275, #3832: two kernels of one name.
TEST_F(kept, kernels_of_one_name_stay_apart) {
  for (int k = 0; k < 2; ++k) {
    const process_result r = run({{"TEST_SAME_NAME", "1"}});
    ASSERT_TRUE(r.good()) << r.output;
    EXPECT_EQ(r["first"], "11");
    EXPECT_EQ(r["second"], "21");
    EXPECT_EQ(r["raw_30"], "30");
    EXPECT_EQ(r["raw_40"], "40");
    EXPECT_EQ(r.number("compiles") == 0, k == 1);
  }
}

// C06; Mitsuba drjit#115: no place to keep kernels in.
// cupy#2296, #3144; vexcl#276
TEST_F(kept, without_a_place_everything_works_with_one_warning) {
  write_file(scratch.path() + "/file", "");
  const environment none{{"SINTER_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", ""}};
  for (const environment& e : {none, environment{{"SINTER_CACHE_DIR", scratch.path() + "/file"}},
                               environment{{"SINTER_CACHE_DIR", scratch.path() + "/file/below"}},
                               environment{{"SINTER_CACHE_DIR", "/proc/none"}}}) {
    environment all = e;
    all["TEST_KERNELS"] = "2";
    const process_result r = run(all);
    ASSERT_TRUE(r.good()) << r.output;
    EXPECT_EQ(r["right"], "1");
    EXPECT_EQ(r.number("compiles"), 2u);
    EXPECT_EQ(r.count("sinter: "), 1) << r.output;
    EXPECT_EQ(r.count("SINTER_CACHE_DIR"), 1) << r.output;
  }
}

// mlxcel#265: paths that held only where the program was started.
TEST_F(kept, where_the_program_is_started_does_not_matter) {
  expect_run({{"TEST_KERNELS", "1"}}, 1);
  const process_result r = run_process(with({{"TEST_KERNELS", "1"}, {"CUDA_HOME", ""}, {"CUDA_PATH", ""}}), "cd / &&");
  EXPECT_EQ(r["right"], "1") << r.output;
  EXPECT_LE(r.number("compiles"), executor == "cuda" ? 1u : 0u);  // there it may be another NVRTC that is found
}

TEST_F(kept, the_usual_places_are_used_in_their_order) {
  const std::string home = scratch.path() + "/home", xdg = scratch.path() + "/xdg";
  expect_run({{"SINTER_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", home}, {"TEST_KERNELS", "1"}}, 1);
  EXPECT_EQ(kernel_files(home + "/.cache/sinter").size(), 1u);
  expect_run({{"SINTER_CACHE_DIR", ""}, {"XDG_CACHE_HOME", xdg}, {"HOME", home}, {"TEST_KERNELS", "1"}}, 1);
  EXPECT_EQ(kernel_files(xdg + "/sinter").size(), 1u);
}

TEST_F(kept, a_directory_others_can_write_to_is_not_used) {
  fs::create_directory(folder);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  const process_result r = run({{"TEST_KERNELS", "1"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.count("chmod go-w " + folder), 1) << r.output;
  EXPECT_TRUE(fs::is_empty(folder));
}

// C06: a full disk, and one that runs no programs (Bohrium's FAQ; C06).
TEST_F(kept, a_full_disk_costs_one_warning) {
  if (const std::string why = why_no_mounts(); !why.empty()) GTEST_SKIP() << why;
  fs::create_directory(folder);
  const process_result r = run_process(
      with({{"TEST_KERNELS", "3"}}),
      "[ -n \"$INSIDE\" ] || INSIDE=1 exec unshare -m /bin/sh -c 'mount -t tmpfs -o size=4k,mode=700 none " + folder +
          " && exec \"$0\" \"$@\"' \"$0\" \"$@\";");
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.number("compiles"), 3u);
  EXPECT_EQ(r.count("sinter: "), 1) << r.output;
  EXPECT_EQ(r.count("No space left"), 1) << r.output;
}

TEST_F(kept, folders_that_run_no_programs_do) {
  if (const std::string why = why_no_mounts(); !why.empty()) GTEST_SKIP() << why;
  const std::string place = scratch.path() + "/noexec";
  fs::create_directory(place);
  const std::string script = "exec unshare -m /bin/sh -c 'mount -t tmpfs -o noexec,mode=700 none " + place +
                             " && \"$0\" \"$@\" && exec \"$0\" \"$@\"' \"$0\" \"$@\";";
  const process_result r =
      run_process({{"TEST_KERNELS", "2"}, {"SINTER_CACHE_DIR", place + "/cache"}, {"TMPDIR", place}}, script);
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r.count("RESULT compiles=2\n"), 1) << r.output;
  EXPECT_EQ(r.count("RESULT compiles=0\n"), 1) << r.output;
  EXPECT_EQ(r.count("RESULT right=1\n"), 2);
  EXPECT_EQ(r.count("sinter: "), 0) << r.output;
}

// C08
TEST_F(kept, the_bound_on_bytes_holds) {
  expect_run({{"TEST_KERNELS", "1"}}, 1);
  const std::size_t one = fs::file_size(kernel_files(folder).at(0));
  const std::string most = std::to_string(4 * one);
  for (int k = 0; k < 2; ++k) {
    const process_result r = run({{"TEST_KERNELS", "6"}, {"TEST_MAX_BYTES", most}});
    ASSERT_TRUE(r.good()) << r.output;
    EXPECT_EQ(r["right"], "1");
    std::size_t total = 0;
    for (const std::string& f : kernel_files(folder)) total += fs::file_size(f);
    EXPECT_LE(total, 4 * one);
    EXPECT_GE(total, one);
  }
}

// cupy#2100
TEST_F(kept, any_name_of_a_directory_will_do) {
  const std::string named = scratch.path() + "/caché \xe6\xbc\xa2 {} %s";
  expect_run({{"SINTER_CACHE_DIR", named}, {"TEST_KERNELS", "1"}}, 1);
  expect_run({{"SINTER_CACHE_DIR", named}, {"TEST_KERNELS", "1"}}, 0);
  fs::rename(named, folder);
  expect_run({{"TEST_KERNELS", "1"}}, 0);
}

TEST_F(kept, a_directory_removed_meanwhile_harms_nobody) {
  cache_process p(with({{"TEST_KERNELS", "4"}}));
  for (int k = 0; k < 40; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  const process_result r = p.wait();
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
}

TEST_F(kept, precompile_leaves_nothing_to_compile_and_launches_nothing) {
  const process_result r = run({{"TEST_KERNELS", "2"}, {"TEST_PRECOMPILE", "1"}});
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.number("launches_of_precompile"), 0u);
  EXPECT_EQ(r.number("compiles_of_precompile"), 2u);
  EXPECT_EQ(r.number("compiles"), 2u);
}

// ---- bundles, and machines without a compiler ----

TEST_F(kept, a_bundle_serves_without_directory_and_compiler) {
  const std::string file = scratch.path() + "/app.sinter";
  expect_run({{"TEST_KERNELS", "2"}, {"TEST_EXPORT", file}}, 2);
  environment e{{"SINTER_CACHE", "memory"}, {"TEST_LOAD", file}, {"PATH", "/nowhere"}, {"TEST_KERNELS", "2"}};
  const process_result r = run(e);
  ASSERT_TRUE(r.good()) << r.output;
  EXPECT_EQ(r["right"], "1");
  EXPECT_EQ(r.number("compiles"), 0u);
  EXPECT_EQ(r.number("bundle_hits"), 2u);
  if (executor == "cuda") return;  // NVRTC is found in other places, too
  e["TEST_KERNELS"] = "3";
  const process_result more = run(e);
  ASSERT_TRUE(more.good()) << more.output;
  EXPECT_NE(more["device_error"].find("kernel sinter_"), std::string::npos) << more.output;
  EXPECT_NE(more["device_error"].find(file), std::string::npos) << more.output;
  EXPECT_NE(more["device_error"].find("no compiler"), std::string::npos) << more.output;
}

TEST_F(kept, a_read_only_directory_serves_without_a_compiler) {
  if (executor == "cuda") GTEST_SKIP() << "NVRTC can't be hidden: it is found in the system's places";
  expect_run({{"TEST_KERNELS", "2"}}, 2);
  environment e{{"TEST_KERNELS", "2"}, {"SINTER_CACHE", "read_only"}, {"PATH", "/nowhere"}};
  expect_run(e, 0);
  e["TEST_KERNELS"] = "3";
  const process_result r = run(e);
  EXPECT_NE(r["device_error"].find("kernel sinter_"), std::string::npos) << r.output;
  EXPECT_NE(r["device_error"].find(folder), std::string::npos) << r.output;
}

}  // namespace
