import { isBetweenWords, lexemes, textOf } from './lexemes.ts'

/** A statement whose `:name` became `$1`, `$2`, ..., and the name of each. */
export type NumberedStatement = Readonly<{ text: string; names: readonly string[] }>

/**
 * Replaces `:name` by `$1`, `$2`, ... where it stands outside of quotes and comments. A parameter is as long as its name
 * was, so that a position in the one text is the same position in the other, except for a short name after the ninth.
 */
export function numberNames(text: string): NumberedStatement {
  const names: string[] = []
  let numbered = ''
  let end = 0
  for (const { from, to, name } of namesIn(text)) {
    const known = names.indexOf(name)
    const place = known < 0 ? names.push(name) : known + 1
    numbered += text.slice(end, from) + `$${place}`.padEnd(to - from)
    end = to
  }
  return { text: numbered + text.slice(end), names }
}

/** A colon and a word directly after it. `::type` is a cast, `a[1:n]` with a word before the colon is a slice. */
function* namesIn(text: string): Generator<Readonly<{ from: number; to: number; name: string }>> {
  let before = { text: '', to: -1 }
  let colon: number | undefined
  let from = 0
  for (const lexeme of lexemes(text)) {
    const word = textOf(lexeme)
    const to = from + word.length
    if (!isBetweenWords(lexeme)) {
      if (lexeme.kind === 'word' && colon === from - 1) yield { from: colon, to, name: word }
      const touches = before.to === from
      const isName = word === ':' && !(touches && /[\w:)\]"$]$/.test(before.text))
      colon = isName ? from : undefined
      before = { text: word, to }
    }
    from = to
  }
}
