import { lexemes } from '../../sql-text/lexemes.ts'

/** The n of the highest `$n` of a statement; 0 if it has none, or is too long to search. */
export function highestParameter(text: string): number {
  let highest = 0
  let count = 0
  let isAfterDollar = false
  for (const { kind, open } of lexemes(text)) {
    if (++count > maxLexemes) return 0
    if (isAfterDollar && /^\d/.test(open)) highest = Math.max(highest, Number.parseInt(open, 10))
    isAfterDollar = kind === 'symbol' && open === '$'
  }
  return highest
}

/** About 20 ms. */
const maxLexemes = 16_384
