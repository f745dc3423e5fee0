//! Folders of tests, one per file.

use snick_testing::Suite;

snick_testing::check_files!(rewrites, "tests/rewrites");

snick_testing::check_files!(symbolic, "tests/symbolic", Suite::default().symbolic(true));
