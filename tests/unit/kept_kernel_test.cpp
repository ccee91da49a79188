// Entries of the kernel cache as bytes and as files: nothing here compiles.
#include "jit/cache/bundle.hpp"
#include "jit/cache/disk.hpp"
#include "runtime/error.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;
using namespace sinter::jit;
using sinter_test::scratch_folder;

namespace {

compile_task task(const std::string& name, const std::string& source = "void f();\n") {
  compile_task t;
  t.request.name = name;
  t.request.source = source;
  return t;
}

entry_key key(const std::string& name, const std::string& maker = "compiler 1") {
  return {task_bytes(task(name)), "here", maker};
}

std::vector<std::byte> made_of(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> b(size);
  for (std::byte& x : b) x = static_cast<std::byte>((seed = seed * 1103515245 + 12345) >> 16);
  return b;
}

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

disk_cache open_at(const std::string& path, std::uint64_t most = 1 << 30) {
  directory d(path, true, false);
  EXPECT_TRUE(d.good()) << d.complaint();
  return disk_cache(std::move(d), true, most);
}

bool holds(const disk_cache& d, const entry_key& k) {
  miss why;
  return d.find(k, why).has_value();
}

miss reason(const disk_cache& d, const entry_key& k) {
  miss why;
  return d.find(k, why) ? miss::none : why;
}

std::string path_of(const scratch_folder& f, const entry_key& k) { return f.path() + "/" + entry_path(file_name(k)); }

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string read_file(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

void set_last_use(const std::string& path, time_t when) {
  const timespec times[] = {{when, 0}, {0, UTIME_OMIT}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// ---- bytes ----

TEST(kept_entry, comes_back_as_it_was) {
  for (const std::size_t size : {0, 1, 7, 8, 31, 32, 33, 10000}) {
    const auto made = made_of(size);
    const std::string bytes = entry_bytes(key("k"), made);
    const auto e = read_entry(bytes_of(bytes));
    ASSERT_TRUE(e);
    EXPECT_TRUE(std::ranges::equal(e->image, made));
    EXPECT_TRUE(matches(*e, key("k")));
    EXPECT_FALSE(matches(*e, key("l")));
    EXPECT_FALSE(matches(*e, key("k", "compiler 2")));
    EXPECT_TRUE(matches(*e, key("k", ""))) << "no compiler here: anybody's";
  }
}

TEST(kept_entry, with_any_bit_flipped_is_none) {
  std::string bytes = entry_bytes(key("k"), made_of(100));
  for (std::size_t k = 0; k < bytes.size(); ++k)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[k] = static_cast<char>(bytes[k] ^ 1 << bit);
      ASSERT_FALSE(read_entry(bytes_of(bytes))) << "byte " << k << ", bit " << bit;
      bytes[k] = static_cast<char>(bytes[k] ^ 1 << bit);
    }
  EXPECT_TRUE(read_entry(bytes_of(bytes)));
}

TEST(kept_entry, of_any_other_length_is_none) {
  const std::string bytes = entry_bytes(key("k"), made_of(100));
  for (std::size_t k = 0; k < bytes.size(); ++k) ASSERT_FALSE(read_entry(bytes_of(bytes).first(k))) << k;
  EXPECT_FALSE(read_entry(bytes_of(bytes + '\0')));
}

// jax-mps#212: fields put together without boundaries.
TEST(kept_entry, keys_keep_their_fields_apart) {
  std::set<std::string> all;
  int made = 0;
  const auto add = [&](auto change) {
    compile_task t = task("ab", "c");
    change(t);
    all.insert(task_bytes(t));
    ++made;
  };
  add([](compile_task&) {});
  add([](compile_task& t) { t.request.name = "a", t.request.source = "bc"; });
  add([](compile_task& t) { t.request.options = {"x", "y"}; });
  add([](compile_task& t) { t.request.options = {"xy"}; });
  add([](compile_task& t) { t.request.options = {"x y"}; });
  add([](compile_task& t) { t.headers = {{"a.h", "b"}}; });
  add([](compile_task& t) { t.headers = {{"a", ".hb"}}; });
  add([](compile_task& t) { t.request.math = math_mode::strict; });
  add([](compile_task& t) { t.request.large = true; });
  add([](compile_task& t) { t.how = target_kind::cuda; });
  EXPECT_EQ(all.size(), static_cast<std::size_t>(made));
  std::set<std::string> names;  // target and compiler are in the key, too (triton#1593, arrayfire#3353)
  for (const char* target : {"sm_80", "sm_90"})
    for (const char* maker : {"nvrtc 12", "nvrtc 13"}) names.insert(file_name({task_bytes(task("k")), target, maker}));
  EXPECT_EQ(names.size(), 4u);
}

TEST(kept_entry, a_task_comes_back_from_its_bytes) {
  compile_task t = task("k", "source\n");
  t.how = target_kind::cuda;
  t.request.math = math_mode::fast;
  t.request.large = true;
  t.request.options = {"-DX=1", ""};
  t.headers = {{"a.h", "int a;\n"}};
  const std::string bytes = task_bytes(t);
  const auto back = task_from(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(task_bytes(*back), bytes);
  EXPECT_EQ(back->request.options, t.request.options);
  EXPECT_EQ(back->headers[0].contents, "int a;\n");
  EXPECT_FALSE(task_from(bytes.substr(1)));
}

// ---- files ----

TEST(kept_files, are_found_by_their_whole_key) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path() + "/a/b");
  EXPECT_EQ(reason(d, key("k")), miss::absent);
  const std::size_t written = d.store(key("k"), made_of(1000));
  EXPECT_GT(written, 1000u);
  miss why;
  const auto e = d.find(key("k"), why);
  ASSERT_TRUE(e);
  EXPECT_TRUE(std::ranges::equal(e->entry.image, made_of(1000)));
  EXPECT_EQ(e->bytes.size, written);
  EXPECT_EQ(reason(d, key("l")), miss::absent);
  EXPECT_EQ(reason(d, key("k", "compiler 2")), miss::absent);
  EXPECT_TRUE(holds(d, key("k", "")));
  struct stat s;
  ASSERT_EQ(stat((f.path() + "/a/b").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
}

TEST(kept_files, damaged_or_anothers_are_told_apart_and_replaced) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  const std::string path = path_of(f, key("k"));
  d.store(key("k"), made_of(500));
  d.store(key("l"), made_of(500));
  const std::string good = read_file(path);
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), good.substr(1), good + "x",
                                 std::string(good.size(), '\0'), std::string("text\n")}) {
    write_file(path, bad);
    EXPECT_EQ(reason(d, key("k")), miss::damaged);
    d.store(key("k"), made_of(500));
    EXPECT_EQ(read_file(path), good);
  }
  write_file(path, read_file(path_of(f, key("l"))));
  EXPECT_EQ(reason(d, key("k")), miss::foreign);
  std::string older = good;
  older[8] = 0;  // the format's number
  write_file(path, older);
  EXPECT_EQ(reason(d, key("k")), miss::damaged);
}

TEST(kept_files, that_others_can_write_to_are_refused) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  d.store(key("k"), made_of(500));
  const std::string path = path_of(f, key("k"));
  chmod(path.c_str(), 0666);
  EXPECT_EQ(reason(d, key("k")), miss::refused);
  chmod(path.c_str(), 0644);
  EXPECT_TRUE(holds(d, key("k")));
  ASSERT_EQ(rename(path.c_str(), (path + ".real").c_str()), 0);
  ASSERT_EQ(symlink((path + ".real").c_str(), path.c_str()), 0);
  EXPECT_EQ(reason(d, key("k")), miss::refused);
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(reason(d, key("k")), miss::refused) << "and does not wait for a writer";
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  unlink(path.c_str());
  ASSERT_EQ(rename((path + ".real").c_str(), path.c_str()), 0);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(reason(d, key("k")), miss::refused);
  EXPECT_GT(d.store(key("k"), made_of(500)), 0u);
  EXPECT_TRUE(holds(d, key("k"))) << "repaired";
}

TEST(kept_directory, that_others_can_write_to_is_refused_and_says_what_to_do) {
  const scratch_folder f;
  for (const mode_t mode : {0777, 0770, 0702}) {
    chmod(f.path().c_str(), mode);
    const directory d(f.path(), true, false);
    EXPECT_FALSE(d.good());
    EXPECT_NE(d.complaint().find("chmod go-w " + f.path()), std::string::npos) << d.complaint();
    EXPECT_FALSE(directory(f.path(), false, true).good()) << "named or not";
  }
  chmod(f.path().c_str(), 0755);
  EXPECT_TRUE(directory(f.path(), true, false).good());
}

TEST(kept_directory, of_somebody_else_has_to_be_named) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give directories away";
  const scratch_folder f;
  const entry_key k = key("k");
  open_at(f.path()).store(k, made_of(100));
  for (const std::string& part : {f.path(), path_of(f, k)}) ASSERT_EQ(chown(part.c_str(), 65534, 65534), 0);
  const directory mine(f.path(), true, false);
  EXPECT_FALSE(mine.good());
  EXPECT_NE(mine.complaint().find("belongs to user 65534"), std::string::npos) << mine.complaint();
  directory shared(f.path(), false, true);
  ASSERT_TRUE(shared.good());
  EXPECT_TRUE(holds(disk_cache(std::move(shared), false, 1 << 30), k));
  ASSERT_EQ(chown(path_of(f, k).c_str(), 65533, 65533), 0);
  EXPECT_EQ(reason(disk_cache(directory(f.path(), false, true), false, 1 << 30), k), miss::refused) << "a third user's";
}

TEST(kept_directory, two_users_share_what_its_mode_lets_them) {
  const scratch_folder f;
  chmod(f.path().c_str(), 0750);
  open_at(f.path()).store(key("k"), made_of(100));
  const std::string path = path_of(f, key("k"));
  struct stat s;
  ASSERT_EQ(stat(path.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0640u);
  ASSERT_EQ(stat(path.substr(0, path.rfind('/')).c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0750u);
}

// Mitsuba drjit#115: no place to write to.
TEST(kept_directory, that_cannot_be_written_to_still_serves) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user for a moment";
  const scratch_folder f;
  chmod(f.path().c_str(), 0755);
  open_at(f.path()).store(key("k"), made_of(100));
  ASSERT_EQ(seteuid(65534), 0);
  const disk_cache d(directory(f.path(), false, true), true, 1 << 30);
  EXPECT_TRUE(d.where().good());
  const bool found = holds(d, key("k"));
  const bool locked = static_cast<bool>(d.lock(key("l"), std::chrono::milliseconds(10)));
  const std::size_t written = d.store(key("l"), made_of(100));
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(found);
  EXPECT_FALSE(locked);
  EXPECT_EQ(written, 0u);
}

TEST(kept_directory, may_have_any_name) {
  const scratch_folder f;
  const std::string path = f.path() + "/caché \xe6\xbc\xa2 {} %s \"q\"";
  const disk_cache d = open_at(path);
  EXPECT_GT(d.store(key("k"), made_of(100)), 0u);
  EXPECT_TRUE(holds(open_at(path), key("k")));
}

// ---- size ----

TEST(kept_sizes, stay_below_the_bound_and_the_least_recently_used_goes_first) {
  const scratch_folder f;
  const std::size_t one = entry_bytes(key("a"), made_of(10000)).size();
  const disk_cache d = open_at(f.path(), 4 * one);
  time_t when = time(nullptr) - 1000;
  for (const char* name : {"a", "b", "c"}) {
    d.store(key(name), made_of(10000));
    set_last_use(path_of(f, key(name)), when += 10);
  }
  EXPECT_TRUE(holds(d, key("a")));  // used again
  d.store(key("d"), made_of(10000));
  d.store(key("e"), made_of(10000));
  EXPECT_TRUE(holds(d, key("a")));
  EXPECT_FALSE(holds(d, key("b")));
  EXPECT_TRUE(holds(d, key("e")));
  std::uint64_t total = 0;
  for (const kept_file& k : d.list()) total += k.bytes;
  EXPECT_LE(total, 4 * one);
  EXPECT_EQ(d.store(key("huge"), made_of(5 * one)), 0u) << "larger than all";
}

TEST(kept_sizes, hold_when_the_clock_went_back) {
  const scratch_folder f;
  const std::size_t one = entry_bytes(key("a"), made_of(10000)).size();
  const disk_cache d = open_at(f.path(), 3 * one);
  for (const char* name : {"a", "b"}) {
    d.store(key(name), made_of(10000));
    set_last_use(path_of(f, key(name)), time(nullptr) + 100000);
  }
  for (const char* name : {"c", "d", "e"}) d.store(key(name), made_of(10000));
  EXPECT_FALSE(holds(d, key("a")));
  EXPECT_FALSE(holds(d, key("b")));
  EXPECT_TRUE(holds(d, key("e")));
  EXPECT_TRUE(holds(d, key("d"))) << "used after the clock was set back, so more recently";
}

TEST(kept_sizes, need_no_right_note_of_them) {
  const scratch_folder f;
  const std::size_t one = entry_bytes(key("a"), made_of(10000)).size();
  for (const char* note : {"", "x", "12", "-5\n", "99999999999999999999999\n"}) {
    const disk_cache d = open_at(f.path(), 2 * one);
    write_file(f.path() + "/size", note);
    for (const char* name : {"a", "b", "c", "d"}) d.store(key(name), made_of(10000));
    std::uint64_t total = 0;
    for (const kept_file& k : d.list()) total += k.bytes;
    EXPECT_LE(total, 2 * one) << note;
  }
}

TEST(kept_sizes, an_entry_removed_while_it_is_read_is_read_to_its_end) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  d.store(key("k"), made_of(1 << 20));
  std::string refused;
  const file open = d.where().open_trusted(entry_path(file_name(key("k"))), refused);
  ASSERT_TRUE(open);
  EXPECT_EQ(d.sweep(0), 1u);
  const auto bytes = read_all(open, 1 << 30);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(read_entry(bytes->span()));
}

TEST(kept_sizes, remains_of_dead_writers_go) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  d.store(key("k"), made_of(10));
  write_file(f.path() + "/tmp/1.1.old", "x");
  write_file(f.path() + "/tmp/1.1.new", "x");
  const timespec times[] = {{0, UTIME_OMIT}, {time(nullptr) - 10000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (f.path() + "/tmp/1.1.old").c_str(), times, 0), 0);
  d.sweep(1 << 20);
  EXPECT_NE(::access((f.path() + "/tmp/1.1.old").c_str(), F_OK), 0);
  EXPECT_EQ(::access((f.path() + "/tmp/1.1.new").c_str(), F_OK), 0) << "its writer may live";
}

// cupy#4926: tens of thousands of files in one folder.
TEST(kept_sizes, one_kernel_among_50000_is_found_at_once) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  d.store(key("k"), made_of(10000));
  for (int k = 0; k < 50000; ++k) {
    const std::string name = entry_path(to_string(digest_of(std::to_string(k))) + "-0000000000000000.kernel");
    d.where().make_folders(name);
    const int fd = openat(d.where().root(), name.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    close(fd);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(holds(open_at(f.path()), key("k")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

// ---- locks ----

TEST(kept_locks, are_exclusive_per_kernel_and_waiting_ends) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  using namespace std::chrono;
  const file first = d.lock(key("k"), milliseconds(0));
  ASSERT_TRUE(first);
  EXPECT_TRUE(d.lock(key("l"), milliseconds(0))) << "another kernel's";
  const auto start = steady_clock::now();
  EXPECT_FALSE(d.lock(key("k"), milliseconds(60)));
  EXPECT_GE(steady_clock::now() - start, milliseconds(60));
}

TEST(kept_locks, of_a_dead_process_are_free) {
  const scratch_folder f;
  const disk_cache d = open_at(f.path());
  const pid_t child = fork();
  if (child == 0) {
    const file held = d.lock(key("k"), std::chrono::seconds(1));
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  for (int k = 0; k < 1000 && d.lock(key("k"), std::chrono::milliseconds(0)); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(d.lock(key("k"), std::chrono::milliseconds(0)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(d.lock(key("k"), std::chrono::milliseconds(0)));
}

// ---- bundles ----

TEST(bundles, come_back_whole_or_not_at_all) {
  const scratch_folder f;
  const std::string path = f.path() + "/app.sinter";
  const std::vector<std::string> entries{entry_bytes(key("a"), made_of(100)), entry_bytes(key("b"), made_of(2000))};
  write_bundle(path, entries);
  EXPECT_EQ(read_bundle(path), entries);
  const std::string good = read_file(path);
  for (std::size_t k = 0; k < good.size(); k += 7) {
    std::string bad = good;
    bad[k] = static_cast<char>(bad[k] ^ 4);
    write_file(path, bad);
    EXPECT_THROW(read_bundle(path), io_error) << k;
    write_file(path, good.substr(0, k));
    EXPECT_THROW(read_bundle(path), io_error) << k;
  }
  write_file(path, good + "x");
  EXPECT_THROW(read_bundle(path), io_error);
  EXPECT_THROW(read_bundle(f.path() + "/none"), io_error);
  EXPECT_THROW(read_bundle(f.path()), io_error);
  write_file(path, good);
  chmod(path.c_str(), 0666);
  EXPECT_THROW(read_bundle(path), io_error);
  EXPECT_THROW(write_bundle(f.path() + "/no/where", entries), io_error);
}

TEST(bundles, serve_every_target_their_code_runs_on) {
  EXPECT_GT(fitness("sm_90", "sm_90"), fitness("sm_86", "sm_89"));
  EXPECT_GT(fitness("sm_86", "sm_89"), fitness("sm_80", "sm_89"));
  EXPECT_GT(fitness("sm_80", "sm_89"), fitness("compute_80", "sm_89"));
  EXPECT_GT(fitness("compute_80", "sm_90"), fitness("compute_75", "sm_90"));
  EXPECT_GT(fitness("compute_90", "sm_120"), 0);
  EXPECT_EQ(fitness("sm_80", "sm_90"), 0);
  EXPECT_EQ(fitness("sm_89", "sm_86"), 0);
  EXPECT_EQ(fitness("compute_90", "sm_80"), 0);
  EXPECT_EQ(fitness("sm_90a", "sm_100"), 0);
  EXPECT_EQ(fitness("x86-64", "sm_90"), 0);
  EXPECT_EQ(fitness("sm_90", host_target()), 0);
  EXPECT_EQ(fitness("another processor", host_target()), 0);
  if (!host_target().starts_with("x86_64")) return;
  EXPECT_GT(fitness(host_target(), host_target()), fitness("x86-64", host_target()));
  EXPECT_GT(fitness("x86-64", host_target()), 0);
  EXPECT_EQ(fitness("x86-64-v9", host_target()), 0);
}

}  // namespace
