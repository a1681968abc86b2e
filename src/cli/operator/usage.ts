import { listAccounts } from '../../accounts/user-store.ts'
import { userByName } from '../../auth/account-store.ts'
import type { UsageDocument, UsagePeriodDocument } from '../../contract/documents.ts'
import { formatBytes, formatCount } from '../../contract/text/format.ts'
import { type UsagePeriod, usagePeriods } from '../../contract/usage-names.ts'
import { AppError, errors } from '../../errors.ts'
import { usageCsv, usageDocument } from '../../usage/usage-document.ts'
import { readUsage, type UsageSpan } from '../../usage/usage-store.ts'
import { wantedUsage } from '../../usage/wanted-usage.ts'
import type { Command } from '../command.ts'
import { UsageError } from '../command-error.ts'
import { type OptionValues, textOf } from '../option-values.ts'
import { asOperator } from './as-operator.ts'

/** The usage of one user by period, or the sum for each user. */
export const runUsage: Command['run'] = async ({ args, values }) => {
  const username = args[0]
  const filter = filterOf(values)
  const documents = await asOperator(async ({ databases: { control } }) => {
    const accounts =
      username === undefined ? await listAccounts(control) : [await userByName(control, username)]
    const found: UsageDocument[] = []
    for (const account of accounts) {
      if (!account) throw errors.accountNotFound('User', username!)
      found.push(usageDocument(account.username, filter, await readUsage(control, account.userId, filter)))
    }
    return found
  })
  if (username === undefined)
    return {
      document: { users: documents },
      lines: documents.map((one) => `${one.username}  ${describe(sumOf(one.periods))}`),
    }
  const [document] = documents
  if (values.csv === true) return { document, lines: [usageCsv(document!).replace(/\r\n$/, '')] }
  return {
    document,
    lines: document!.periods.map((one) => `${one.from}  ${describe(one)}`),
  }
}

function filterOf(values: OptionValues): UsageSpan {
  const by = textOf(values, 'by') as UsagePeriod | undefined
  if (by !== undefined && !usagePeriods.includes(by))
    throw new UsageError(`--by must be one of ${usagePeriods.join(', ')}`)
  try {
    return wantedUsage({ since: textOf(values, 'since'), until: textOf(values, 'until'), by }, new Date())
  } catch (error) {
    throw error instanceof AppError ? new UsageError(error.message) : error
  }
}

type Figures = Omit<UsagePeriodDocument, 'from'>

function sumOf(periods: readonly UsagePeriodDocument[]): Figures {
  const sum = (figure: (one: UsagePeriodDocument) => number) =>
    periods.reduce((total, one) => total + figure(one), 0)
  return {
    requests: { query: sum(requestsIn) },
    jobs: sum(({ jobs }) => jobs),
    tiles: sum(({ tiles }) => tiles),
    postgres_seconds: sum((one) => one.postgres_seconds),
    rows_out: sum((one) => one.rows_out),
    rows_in: sum((one) => one.rows_in),
    bytes_out: sum((one) => one.bytes_out),
    bytes_in: sum((one) => one.bytes_in),
    disk_bytes: periods.findLast((one) => one.disk_bytes !== null)?.disk_bytes ?? null,
  }
}

const requestsIn = ({ requests }: Pick<Figures, 'requests'>) =>
  Object.values(requests).reduce((total, count) => total + count, 0)

function describe(one: Figures): string {
  return [
    `${formatCount(requestsIn(one))} requests`,
    `${formatCount(one.jobs)} jobs`,
    `${formatCount(one.tiles)} tiles`,
    `${one.postgres_seconds.toFixed(1)} s of PostgreSQL`,
    `out ${formatCount(one.rows_out)} rows ${formatBytes(one.bytes_out)}`,
    `in ${formatCount(one.rows_in)} rows ${formatBytes(one.bytes_in)}`,
    ...(one.disk_bytes === null ? [] : [`disk ${formatBytes(one.disk_bytes)}`]),
  ].join('  ')
}
