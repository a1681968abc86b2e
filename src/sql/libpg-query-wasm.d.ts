/** What the WASM build inside `libpg-query` offers; the package itself types only the layer above it. */
declare module 'libpg-query/wasm/libpg-query.js' {
  export type PgQueryInstance = {
    readonly _malloc: (bytes: number) => number
    readonly _free: (pointer: number) => void
    readonly _wasm_parse_query_raw: (text: number) => number
    readonly _wasm_free_parse_result: (result: number) => void
    readonly lengthBytesUTF8: (text: string) => number
    readonly stringToUTF8: (text: string, pointer: number, maxBytes: number) => void
    readonly UTF8ToString: (pointer: number) => string
    readonly getValue: (pointer: number, type: 'i32') => number
  }
  /** In place of its own way to read and compile its code. */
  export type InstantiateWasm = (
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance) => void,
  ) => object
  export default function instantiate(options: {
    readonly instantiateWasm: InstantiateWasm
  }): Promise<PgQueryInstance>
}

/** As far as it is used here: the types of Node leave it to those of the browser. */
declare namespace WebAssembly {
  type Imports = Readonly<Record<string, unknown>>
  type Module = object
  class Instance {
    constructor(code: Module, imports: Imports)
  }
  function compile(bytes: Uint8Array): Promise<Module>
}
