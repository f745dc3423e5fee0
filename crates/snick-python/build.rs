//! Lets the macOS linker leave Python's symbols undefined until Python loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
