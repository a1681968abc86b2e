import { CartageError } from '../../../client/cartage-error.ts'
import { findLine, placeInCopy } from '../../../file-import/find-line.ts'
import type { ImportFile } from '../../../file-import/import-file.ts'
import type { ImportPlan } from '../../../file-import/import-plan.ts'
import { FailedError } from '../../command-error.ts'
import { markedLine } from '../explain.ts'

/** An error of COPY about a line, with that line of the file. Other errors are returned unchanged. */
export async function explainCopy(
  error: unknown,
  path: string,
  file: ImportFile,
  { columns }: ImportPlan,
): Promise<unknown> {
  if (!(error instanceof CartageError)) return error
  const place = placeInCopy(error.context, columns)
  if (!place) return error
  const { line, column } = place
  const { detail, hint } = error
  return new FailedError(
    [
      error.message,
      ...(await showLine(path, file, line, column ? columns.indexOf(column) : -1)),
      ...(detail ? [`detail: ${detail}`] : []),
      ...(hint ? [`hint: ${hint}`] : []),
      ...(column ? [`hint: --type ${column.name}=text loads the values unchanged.`] : []),
    ].join('\n'),
  )
}

/** The place and the text of a line, with marks under the field if one is given. */
export async function showLine(
  path: string,
  file: ImportFile,
  line: number,
  field = -1,
): Promise<readonly string[]> {
  const found = await findLine(file, line, field)
  const isFeature = file.isGeojson && found?.record !== undefined
  const place = `${path}, ${isFeature ? `feature ${found.record! - 1}` : `line ${line}`}`
  if (!found) return [`  ${place}`]
  const before = oneLine(found.before)
  const marked = markedLine(String(line), {
    before: before.length > 40 ? `…${before.slice(-40)}` : before,
    word: cutEnd(oneLine(found.word), 60),
    after: cutEnd(oneLine(found.after), field < 0 ? 100 : 40),
  })
  return [`  ${place}:`, ...(field < 0 ? marked.slice(0, 1) : marked)]
}

const oneLine = (text: string) => text.replace(/\r\n?|\n/g, '↵')

const cutEnd = (text: string, most: number) => (text.length > most ? `${text.slice(0, most)}…` : text)
