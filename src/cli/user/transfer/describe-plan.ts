import { basename } from 'node:path'
import { formatBytes, plural } from '../../../contract/text/format.ts'
import type { PlannedColumn, PlannedImport } from '../../../file-import/plan-import.ts'
import type { EitherReading } from '../../../file-import/values/decide-types.ts'
import type { ValueForm } from '../../../file-import/values/local-values.ts'
import type { UserCall } from '../command.ts'
import type { ImportInput } from './import-input.ts'

/** Size, columns and points; and why a column is text that nearly was something else. */
export function describePlan(
  { args, terminal }: UserCall,
  { bytes }: ImportInput,
  { plan, columns, possiblePoints: left }: Pick<PlannedImport, 'plan' | 'columns' | 'possiblePoints'>,
  rows: number,
): void {
  const { points } = plan
  const size = formatBytes(bytes)
  terminal.say(`${basename(args[0]!)}  ${plural(columns.length, 'column')}, ${plural(rows, 'row')}, ${size}`)
  const shown = columns.filter(({ name }) => name !== points?.lon && name !== points?.lat)
  const parts = shown.map(({ name, type, form }) => `${name} ${type}${form ? ` (${formWords[form]})` : ''}`)
  terminal.say(`  ${[...parts, ...(points ? [`points from ${points.lon}, ${points.lat}`] : [])].join(' · ')}`)
  if (left && !points)
    terminal.say(
      `  the_geom is not changed: --points ${left.lon},${left.lat} makes points, also of updated rows`,
    )
  const reasons = columns.flatMap(whyText)
  for (const reason of reasons.slice(0, mostReasons)) terminal.say(`  ${reason}`)
  if (reasons.length > mostReasons)
    terminal.say(`  and ${plural(reasons.length - mostReasons, 'more column')}`)
}

const mostReasons = 10

const formWords: Readonly<Record<ValueForm, string>> = {
  comma: 'decimal comma',
  point: 'commas between thousands',
  dmy: 'day first',
  mdy: 'month first',
}

function whyText({ name, type, reason, inferred }: PlannedColumn): readonly string[] {
  if (type !== 'text' || inferred?.type !== 'text' || reason !== inferred.reason) return []
  const { spoilt, either } = inferred
  if (!spoilt && !either) return []
  const options = spoilt ? spoilt.nulls.map((mark) => `--null ${shellWord(mark)}`) : flagsFor(either!)
  const hint =
    options.length === 0 ? '' : spoilt ? `. As NULL: ${options.join(' ')}` : `: ${options.join(' or ')}`
  return [`${name} is text: ${reason}${hint}`]
}

const flagsFor = (either: EitherReading) =>
  Object.keys(either).map((form) => `--${form === 'dmy' || form === 'mdy' ? 'dates' : 'decimals'} ${form}`)

const shellWord = (text: string) => (/^[\w/.#-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
