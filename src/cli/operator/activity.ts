import { activityDocument, stoppedDocument } from '../../activity/activity-document.ts'
import { listActivity } from '../../activity/list-activity.ts'
import { stopActivity, stopActivityOf } from '../../activity/stop-activity.ts'
import type { ActivityDocument, ActivityStatement } from '../../contract/documents.ts'
import { defaultActivityRecords, maxRecords } from '../../contract/limits.ts'
import { formatDuration, plural, shorten } from '../../contract/text/format.ts'
import { readActivity } from '../../jobs/activity-store.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { textOf, wholeNumberOf } from '../option-values.ts'
import { printable } from '../printable.ts'
import { asOperator } from './as-operator.ts'

const list: Command['run'] = async ({ values }) => {
  const limit = wholeNumberOf(values, 'limit') ?? defaultActivityRecords
  if (limit < 1 || limit > maxRecords) throw new UsageError(`--limit must be from 1 to ${maxRecords}`)
  const isFull = values.full === true
  const document = await asOperator(async ({ databases }) => {
    const [jobs, listed] = await Promise.all([
      readActivity(databases.control, limit),
      listActivity(databases, { username: textOf(values, 'user'), isFull, limit }),
    ])
    return activityDocument(jobs, listed)
  })
  return { document, lines: linesOf(document, isFull) }
}

function linesOf({ statements, left_out, silent_processes }: ActivityDocument, isFull: boolean): string[] {
  const lines = statements.flatMap((statement) => describe(statement, isFull))
  if (statements.length === 0) lines.push('nothing runs')
  if (left_out.statements > 0) lines.push(`${left_out.statements} more: use --limit`)
  if (silent_processes > 0) lines.push(`${plural(silent_processes, 'process', 'processes')} did not answer`)
  return lines
}

function describe(statement: ActivityStatement, isFull: boolean): string[] {
  const { id, username, key, kind, since, text, waits_for, wait_event, blocked_by } = statement
  const age = formatDuration(Math.max(0, Date.now() - Date.parse(since)))
  const waits = waits_for && `waits for ${waits_for}${wait_event === null ? '' : ` (${wait_event})`}`
  const blockers = blocked_by.length > 0 && `held up by ${blocked_by.join(', ')}`
  const head = [id, username, kind, age, key !== null && `key ${key}`, waits, blockers]
    .filter(Boolean)
    .join('  ')
  if (text === null) return [printable(head)]
  const shown = isFull ? text.split('\n') : [shorten(text.replace(/\s+/g, ' ').trim(), 100)]
  return [printable(head), ...shown.map((line) => `    ${printable(line)}`)]
}

const stop: Command['run'] = async ({ args, values }) => {
  const id = args[0]
  const user = textOf(values, 'user')
  if ((id === undefined) === (user === undefined)) throw new UsageError('give either an ID or --user')
  const document = await asOperator(async ({ databases }) =>
    stoppedDocument(
      id === undefined ? await stopActivityOf(databases, user!) : await stopActivity(databases, id),
    ),
  )
  const { stopped, silent_processes: silent } = document
  const lines = stopped.map((one) => `${one.has_ended ? 'stopped' : 'told to stop'} ${one.id} (${one.kind})`)
  if (stopped.length === 0) lines.push('nothing ran')
  if (silent > 0)
    lines.push(`${plural(silent, 'process', 'processes')} did not answer: its statements may go on`)
  return { document, lines, exitCode: silent > 0 ? 1 : 0 }
}

export const activityRuns = { 'activity stop': stop, activity: list }
