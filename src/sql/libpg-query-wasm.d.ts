/** The API of the WASM build in `libpg-query`; the package types only the layer above it. */
declare module 'libpg-query/wasm/libpg-query.js' {
  export type PgQueryInstance = {
    readonly _malloc: (bytes: number) => number
    readonly _free: (pointer: number) => void
    readonly _wasm_parse_query_raw: (text: number) => number
    readonly _wasm_fingerprint: (text: number) => number
    readonly _wasm_free_parse_result: (result: number) => void
    readonly _wasm_scan: (text: number) => number
    readonly _wasm_free_string: (text: number) => void
    readonly lengthBytesUTF8: (text: string) => number
    readonly stringToUTF8: (text: string, pointer: number, maxBytes: number) => void
    readonly UTF8ToString: (pointer: number) => string
    readonly getValue: (pointer: number, type: 'i32') => number
  }
  /** Replaces the module's own loading and compiling. */
  export type InstantiateWasm = (
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance) => void,
  ) => object
  export default function instantiate(options: {
    readonly instantiateWasm: InstantiateWasm
  }): Promise<PgQueryInstance>
}

/** The part used here: Node's types leave WebAssembly to the browser's types. */
declare namespace WebAssembly {
  type Imports = Readonly<Record<string, unknown>>
  type Module = object
  class Instance {
    constructor(code: Module, imports: Imports)
  }
  function compile(bytes: Uint8Array): Promise<Module>
}
