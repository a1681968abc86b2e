import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { fingerprintText } from './grammar.ts'

/** Parsing a longer text takes milliseconds. */
export const longestParsed = 10_000

/** The same texts repeat. */
const known = new LRUCache<string, { readonly fingerprint: string | undefined }>({
  maxSize: 1_000_000,
  maxEntrySize: longestParsed,
  sizeCalculation: (_value, text) => text.length + 100,
  memoMethod: (text) => ({ fingerprint: fingerprintText(text) }),
})

/**
 * Equal for texts that differ only in their constants and spaces, by libpg_query; undefined for a text that is not SQL.
 * A text that is too long to be parsed is equal to itself only.
 */
export const fingerprintOf = (text: string): string | undefined =>
  text.length > longestParsed ? hash('sha256', text) : known.memo(text).fingerprint
