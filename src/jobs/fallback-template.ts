import { type Lexeme, type LexemeKind, lexemes } from '../sql/lexemes.ts'

export type FallbackValues = {
  readonly jobId: string
  /** Empty for a fallback that follows a success. */
  readonly errorMessage: string
}

/**
 * Fills `<%= job_id %>` and `<%= error_message %>` into a fallback, each by the place where it stands, so
 * that no error text can break the statement or add to it:
 *
 *   '...'  E'...'  "..."        as part of the text, quotes (and backslashes in E'') escaped
 *   $tag$...$tag$               as part of the text, unless it would end there
 *   between other words         as a string literal of its own
 *   comments, U&'', B'', X''    stripped of all that could end such a place
 *   a literal inside a literal  stripped; and so is everything inside a body of code (DO, CREATE FUNCTION),
 *                               which gets a literal of its own between words
 */
export function renderFallback(template: string, { jobId, errorMessage }: FallbackValues): string {
  const values: Values = { job_id: withoutNul(jobId), error_message: withoutNul(errorMessage) }
  const place: Place = { words: [], previous: '', continued: 'string' }
  let rendered = ''
  for (const lexeme of lexemes(template, hole)) {
    if (lexeme.kind === 'hole') rendered += padding(rendered) + ownLiteral(lexeme, values, place.continued)
    else rendered += (follows(rendered, lexeme) ? ' ' : '') + renderLexeme(lexeme, values, place)
    notePlace(place, lexeme)
  }
  return rendered
}
