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
  export default function instantiate(): Promise<PgQueryInstance>
}
