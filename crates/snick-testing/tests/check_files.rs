//! A folder of tests, one for each file.

snick_testing::check_files!(rewrites, "tests/rewrites");
