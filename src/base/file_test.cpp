#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/error.h"

namespace recuda {
namespace {

namespace fs = std::filesystem;

TEST(File, WritesWholeOrNotAtAll) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "a.txt";
    write_atomically(file, "old");
    write_atomically(file, "new");
    EXPECT_EQ(read_file(file), "new");
    EXPECT_THROW(write_atomically(folder.path() / "missing" / "b", "x"), Error);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1)
        << "temporary files are gone";
}

TEST(File, ReadErrorsNameThePath) {
    const TemporaryFolder folder;
    for (const fs::path& path : {folder.path(), folder.path() / "nothing.cu"}) {
        try {
            read_file(path);
            FAIL();
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(path.filename().string()), std::string::npos) << error.what();
        }
    }
    std::ofstream(folder.path() / "big") << std::string(100, 'x');
    EXPECT_THROW(read_file(folder.path() / "big", 99), Error);
}

TEST(File, OfAFolderThatOthersFillIsAFileOfItsOwn) {
    const TemporaryFolder folder;
    write_atomically(folder.path() / "own", "mine");
    EXPECT_EQ(read_own_file(folder.path() / "own"), "mine");
    EXPECT_THROW(read_own_file(folder.path() / "own", 3), Error);
    fs::create_symlink(folder.path() / "own", folder.path() / "link");
    ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
    for (const char* name : {"link", "pipe", "nothing", "."})
        EXPECT_THROW(read_own_file(folder.path() / name), Error) << name;
}

TEST(File, AppendsLinesAndTakesBackWhatDidNotFit) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "lines";
    append_line(file, "one");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{16, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_THROW(append_line(file, "a line that is longer than the limit allows"), Error);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(read_file(file), "one\n");
}

TEST(File, LockKeepsOthersOut) {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "lock";
    {
        const FileLock first(file);
        EXPECT_TRUE(first.held());
        EXPECT_FALSE(FileLock(file, FileLock::Wait::never).held());
    }
    EXPECT_TRUE(FileLock(file, FileLock::Wait::never).held());
}

TEST(File, MakesFoldersAndRefusesFilesInTheWay) {
    const TemporaryFolder folder;
    make_folder(folder.path() / "a" / "b");
    EXPECT_TRUE(fs::is_directory(folder.path() / "a" / "b"));
    write_atomically(folder.path() / "file", "mine");
    EXPECT_THROW(make_folder(folder.path() / "file"), Error);
    EXPECT_EQ(read_file(folder.path() / "file"), "mine");
}

}  // namespace
}  // namespace recuda
