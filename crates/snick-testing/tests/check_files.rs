//! A folder of tests, one per file.

snick_testing::check_files!(rewrites, "tests/rewrites");
