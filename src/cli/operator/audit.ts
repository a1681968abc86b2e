import { type AuditRecord, listAudit } from '../../audit/audit-store.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { type OptionValues, textOf, wholeNumberOf } from '../option-values.ts'
import { printable } from '../printable.ts'
import { asOperator } from './as-operator.ts'

export const runAudit: Command['run'] = async ({ values }) => {
  const filter = {
    account: accountOf(values),
    action: textOf(values, 'action'),
    since: sinceOf(values),
    limit: wholeNumberOf(values, 'limit') ?? 50,
    beforeId: wholeNumberOf(values, 'before'),
  }
  const records = await asOperator(({ databases }) => listAudit(databases.control, filter))
  const format = (textOf(values, 'format') ?? 'text') as keyof typeof formats
  return { document: { records }, lines: formats[format](records) }
}

const formats = {
  text: (records: readonly AuditRecord[]) =>
    records.map(({ id, at, actor, action, account, subject }) =>
      [String(id), at.toISOString(), actor, action, account ?? '', subject ?? '']
        .map(inOneLine)
        .join('  ')
        .trimEnd(),
    ),
  ndjson: (records: readonly AuditRecord[]) => records.map((record) => JSON.stringify(record)),
  csv: (records: readonly AuditRecord[]) => [
    'id,at,actor,action,account,subject,details',
    ...records.map(({ id, at, actor, action, account, subject, details }) =>
      [String(id), at.toISOString(), actor, action, account ?? '', subject ?? '', JSON.stringify(details)]
        // No formula for a spreadsheet: tenants name their keys.
        .map((value) => (/^[=+\-@\t]/.test(value) ? `'${value}` : value))
        .map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
        .join(','),
    ),
  ],
} as const

/** Tenants name their tables: a name must neither look like another record nor control the terminal. */
const inOneLine = (value: string) => printable(value.replace(/\r?\n|\r/g, '\\n'))

function accountOf(values: OptionValues): string | undefined {
  const account = textOf(values, 'account')
  const user = textOf(values, 'user')
  if (account !== undefined && user !== undefined)
    throw new UsageError('Give --account or --user: both mean the same')
  return account ?? user
}

/** A time, or how long ago. */
function sinceOf(values: OptionValues): string | undefined {
  const since = textOf(values, 'since')
  if (since === undefined) return undefined
  const [, number, unit] = /^(\d{1,4})([mhd])$/.exec(since) ?? []
  const agoMs = Number(number) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[(unit ?? 'm') as 'm' | 'h' | 'd']
  const time = new Date(number === undefined ? since : Date.now() - agoMs)
  const isGood = number !== undefined || /^[12]\d{3}-\d\d-\d\d/.test(since)
  if (isGood && !Number.isNaN(time.getTime())) return time.toISOString()
  throw new UsageError(
    `--since must be a time such as 2026-01-31, or how long ago, such as 24h, not '${since}'`,
  )
}
