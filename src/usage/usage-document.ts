import type { UsageDocument, UsagePeriodDocument } from '../contract/documents.ts'
import { usageKinds } from '../contract/usage-names.ts'
import type { PeriodUse, UsageSpan } from './usage-store.ts'

/** The same for the API and for the command line. */
export function usageDocument(
  username: string,
  { since, until, by }: UsageSpan,
  periods: readonly PeriodUse[],
): UsageDocument {
  return {
    username,
    since: since.toISOString(),
    until: until.toISOString(),
    by,
    periods: periods.map(periodDocument),
  }
}

function periodDocument(use: PeriodUse): UsagePeriodDocument {
  return {
    from: use.from.toISOString(),
    requests: use.requests,
    jobs: use.jobs,
    tiles: use.requests.tile ?? 0,
    postgres_seconds: use.postgresMs / 1_000,
    rows_out: use.rowsOut,
    rows_in: use.rowsIn,
    bytes_out: use.bytesOut,
    bytes_in: use.bytesIn,
    disk_bytes: use.diskBytes,
  }
}

/** One line for each period; a column for the requests of each kind. No value needs quotes. */
export function usageCsv({ periods }: UsageDocument): string {
  const lines = periods.map(({ requests, ...figures }) => [
    ...figureNames.map((name) => figures[name] ?? ''),
    ...usageKinds.map((kind) => requests[kind] ?? 0),
  ])
  const head = [...figureNames, ...usageKinds.map((kind) => `requests_${kind}`)]
  return [head, ...lines].map((line) => `${line.join(',')}\r\n`).join('')
}

const figureNames = [
  'from',
  'jobs',
  'tiles',
  'postgres_seconds',
  'rows_out',
  'rows_in',
  'bytes_out',
  'bytes_in',
  'disk_bytes',
] as const satisfies readonly (keyof UsagePeriodDocument)[]
