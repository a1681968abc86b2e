import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import type { ParseResult } from 'libpg-query'
import instantiate, { type InstantiateWasm, type PgQueryInstance } from 'libpg-query/wasm/libpg-query.js'
import { lexemes } from '../sql-text/lexemes.ts'

/** Why a text was not parsed. `position` counts characters from 1, like PostgreSQL's. */
export type ParseFailure = {
  readonly ok: false
  readonly code: 'nul-character' | 'too-large' | 'too-complex' | 'unavailable' | 'syntax-error'
  readonly message: string
  readonly position?: number
}

export type ParsedTree = { readonly ok: true; readonly tree: ParseResult } | ParseFailure

/** A token of PostgreSQL's scanner; comments are tokens too. The places count bytes; `text` has spaces for control characters. */
export type Token = Readonly<{
  start: number
  end: number
  text: string
  tokenName: string
  keywordName: string
}>

export type ScannedTokens = { readonly ok: true; readonly tokens: readonly Token[] } | ParseFailure

/** Longer texts are not parsed. */
export const maxCharacters = 262_144
// At each of these limits, parsing blocks the process for about 20 ms.
const maxLexemes = 16_384
const maxScanSteps = 5_000_000
const instancesKept = 3

const instances: PgQueryInstance[] = []
let loading: Promise<void> | undefined
let compiled: WebAssembly.Module | undefined

/** Loads PostgreSQL's grammar. Await it once before parsing. */
export function loadGrammar(): Promise<void> {
  loading ??= fillInstances().finally(() => {
    loading = undefined
  })
  return loading
}

/** All instances share code that is compiled once. */
async function fillInstances(): Promise<void> {
  // Recompiling the parser with V8's optimising compiler would make it a fifth faster, for 30 MB and 0.2 s of CPU.
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
 * Parses a text with the grammar of PostgreSQL 18. The tree says what a text is; never use it to decide what the text
 * may do. A text nested too deeply overflows the stack of its WASM instance. That instance is then unreliable: it is
 * discarded and a spare one replaces it.
 */
export function parseTree(text: string): ParsedTree {
  return withGrammar(text, parseWith)
}

/** The tokens of a text, by PostgreSQL's own scanner. */
export function scanTokens(text: string): ScannedTokens {
  return withGrammar(text, scanWith)
}

/** The fingerprint of libpg_query; undefined for a text that cannot be parsed. */
export function fingerprintText(text: string): string | undefined {
  const found = withGrammar(text, fingerprintWith)
  return typeof found === 'string' && /^[0-9a-f]{16}$/.test(found) ? found : undefined
}

function withGrammar<Result>(
  text: string,
  work: (instance: PgQueryInstance, text: string) => Result,
): Result | ParseFailure {
  // The parser stops at a NUL and would ignore the rest.
  if (text.includes('\0')) return failure('nul-character', 'SQL must not contain NUL characters')
  if (text.length > maxCharacters) return failure('too-large', `SQL is too large: ${text.length} characters`)
  if (isSlowToScan(text) || (text.length > maxLexemes && isTooComplex(text)))
    return failure('too-complex', 'SQL is too complex')
  const instance = instances[0]
  if (!instance) {
    replenish()
    return failure('unavailable', 'The SQL parser is not ready yet: try again')
  }
  try {
    return work(instance, text)
  } catch {
    // PostgreSQL's own errors are returned; a thrown one means that the instance broke.
    instances.shift()
    replenish()
    return failure('too-complex', 'SQL is nested too deeply')
  }
}

/** In the background. If it fails, the remaining instances stay in use, and the next loss tries again. */
function replenish(): void {
  loadGrammar().catch(() => {})
}

function failure(code: ParseFailure['code'], message: string): ParseFailure {
  return { ok: false, code, message }
}

/** Inside a run of operator characters the scanner rescans the rest after certain characters, even in a comment. */
function isSlowToScan(text: string): boolean {
  let steps = 0
  for (const [run] of text.matchAll(operatorRuns))
    steps += run.length * (run.match(newBeginnings)?.length ?? 0)
  return steps > maxScanSteps
}

const operatorRuns = /[~!@#^&|`?+\-*/%<>=]{64,}/g
// Two hyphens start a comment up to the end of the line.
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

const fingerprintWith = (instance: PgQueryInstance, text: string) =>
  textFrom(instance, text, instance._wasm_fingerprint)

function scanWith(instance: PgQueryInstance, text: string): ScannedTokens {
  const scanned = textFrom(instance, text, instance._wasm_scan)
  // An error is returned as its text.
  if (!scanned.startsWith('{')) return failure('syntax-error', scanned)
  // Control characters in the texts of tokens are not escaped.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  const json = scanned.replace(/[\u0001-\u001f]/g, ' ')
  return { ok: true, tokens: (JSON.parse(json) as { tokens: Token[] }).tokens }
}

function textFrom(instance: PgQueryInstance, text: string, work: (input: number) => number): string {
  const input = copyIn(instance, text)
  const result = work(input)
  const answer = instance.UTF8ToString(result)
  instance._wasm_free_string(result)
  instance._free(input)
  return answer
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
