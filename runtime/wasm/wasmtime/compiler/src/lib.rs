// The C functions of the dependency are all that this library is for.
pub use wasmtime_c_api::*;
