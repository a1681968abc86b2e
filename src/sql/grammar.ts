import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import type { ParseResult } from 'libpg-query'
import instantiate, { type InstantiateWasm, type PgQueryInstance } from 'libpg-query/wasm/libpg-query.js'
import { lexemes } from './lexemes.ts'

/** Why a text has no tree. `position` counts characters from 1, as PostgreSQL does. */
export type ParseFailure = {
  readonly ok: false
  readonly code: 'nul-character' | 'too-large' | 'too-complex' | 'unavailable' | 'syntax-error'
  readonly message: string
  readonly position?: number
}

export type ParsedTree = { readonly ok: true; readonly tree: ParseResult } | ParseFailure

/** Longer texts have no tree. */
export const maxCharacters = 262_144
// Parsing blocks the process for some 20 ms at any of these limits.
const maxLexemes = 16_384
const maxScanSteps = 5_000_000
const instancesKept = 3

const instances: PgQueryInstance[] = []
let loading: Promise<void> | undefined
let compiled: WebAssembly.Module | undefined

/** Loads PostgreSQL's grammar; to be awaited once, before anything here is asked. */
export function loadGrammar(): Promise<void> {
  loading ??= fillInstances().finally(() => {
    loading = undefined
  })
  return loading
}

/** All run the same code, which is compiled once. */
async function fillInstances(): Promise<void> {
  // V8 would compile the parser anew at its first text: for 30 MB and 0.2 s of CPU it would be a fifth faster.
  setFlagsFromString('--liftoff-only')
  compiled ??= await WebAssembly.compile(await readFile(wasmFile()))
  const code = compiled
  const instantiateWasm: InstantiateWasm = (imports, receive) => {
    receive(new WebAssembly.Instance(code, imports))
    return {}
  }
  while (instances.length < instancesKept) instances.push(await instantiate({ instantiateWasm }))
}

const wasmFile = () => createRequire(import.meta.url).resolve('libpg-query/wasm/libpg-query.wasm')

/**
 * The tree of a text by the grammar of PostgreSQL 18, for knowing what a text is; never for deciding what
 * it may do. A text nested too deeply overflows the stack of the WASM instance that reads it, and what such
 * an instance says afterwards is not to be trusted: it is thrown away and a spare one takes its place.
 */
export function parseTree(text: string): ParsedTree {
  // The parser takes a NUL for the end of the text, and would not see what follows.
  if (text.includes('\0')) return failure('nul-character', 'SQL must not contain NUL characters')
  if (text.length > maxCharacters) return failure('too-large', `SQL is too large: ${text.length} characters`)
  if (isSlowToScan(text) || (text.length > maxLexemes && isTooComplex(text)))
    return failure('too-complex', 'SQL is too complex')
  const instance = instances[0]
  if (!instance) {
    replenish()
    return failure('unavailable', 'The SQL grammar is not ready')
  }
  try {
    return parseWith(instance, text)
  } catch {
    // PostgreSQL's own errors are results; what is thrown comes from an instance that broke.
    instances.shift()
    replenish()
    return failure('too-complex', 'SQL is nested too deeply')
  }
}

/** In the background. Should it fail, the instances left must do, and the next loss tries again. */
function replenish(): void {
  loadGrammar().catch(() => {})
}

function failure(code: ParseFailure['code'], message: string): ParseFailure {
  return { ok: false, code, message }
}

/** The scanner reads the rest of a run of operator characters anew after certain ones in it, also inside of a comment. */
function isSlowToScan(text: string): boolean {
  let steps = 0
  for (const [run] of text.matchAll(operatorRuns))
    steps += run.length * (run.match(newBeginnings)?.length ?? 0)
  return steps > maxScanSteps
}

const operatorRuns = /[~!@#^&|`?+\-*/%<>=]{64,}/g
// Of two hyphens the rest of the line is a comment.
const newBeginnings = /\/\*|\+|(?<!-)-(?!-)/g

function isTooComplex(text: string): boolean {
  let count = 0
  for (const { kind } of lexemes(text)) {
    if (kind !== 'space' && ++count > maxLexemes) return true
  }
  return false
}

function parseWith(instance: PgQueryInstance, text: string): ParsedTree {
  const input = copyIn(instance, text)
  const result = instance._wasm_parse_query_raw(input)
  const [tree, , error] = readPointers(instance, result, 3)
  const parsed = error ? syntaxError(instance, error) : readTree(instance, tree!)
  instance._wasm_free_parse_result(result)
  instance._free(input)
  return parsed
}

function copyIn(instance: PgQueryInstance, text: string): number {
  const bytes = instance.lengthBytesUTF8(text) + 1
  const pointer = instance._malloc(bytes)
  instance.stringToUTF8(text, pointer, bytes)
  return pointer
}

function readTree(instance: PgQueryInstance, pointer: number): ParsedTree {
  return { ok: true, tree: JSON.parse(instance.UTF8ToString(pointer)) as ParseResult }
}

function syntaxError(instance: PgQueryInstance, pointer: number): ParseFailure {
  const [message, , , , position] = readPointers(instance, pointer, 5)
  const at = position ? { position } : {}
  return { ok: false, code: 'syntax-error', message: instance.UTF8ToString(message!), ...at }
}

function readPointers(instance: PgQueryInstance, pointer: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => instance.getValue(pointer + 4 * index, 'i32'))
}
