import { hasInto } from './query-kind.ts'
import { parseStatements } from './statements.ts'

/** The text of the one SELECT, VALUES or WITH, without its semicolon; or why there is none. */
export function oneSelect(
  text: string,
): Readonly<{ ok: true; text: string }> | Readonly<{ ok: false; message: string | undefined }> {
  const parsed = parseStatements(text)
  if (!parsed.ok) return { ok: false, message: parsed.message }
  const [first, second] = parsed.statements
  if (!first || second || first.tag !== 'SelectStmt' || hasInto(first.node))
    return { ok: false, message: undefined }
  return { ok: true, text: first.text }
}
