import type { OnConflict } from '../../src/contract/formats.ts'
import { splitNames } from '../../src/contract/text/name-list.ts'
import { type Points, tableName } from '../../src/file-import/import-plan.ts'
import { type ImportProblem, type PlannedImport, planImport } from '../../src/file-import/plan-import.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'
import type { CatalogTable } from '../api/catalog.ts'
import type { FileHead } from './file-protocol.ts'

/** The user's choices; the rest comes from the file. Columns are given by their position in the file. */
export type WantedImport = Readonly<{
  table: string
  /** The existing table that gets the rows. undefined: a new table. */
  target: CatalogTable | undefined
  names: Readonly<Record<number, string>>
  types: Readonly<Record<number, string>>
  /** How ambiguous dates and numbers are read. undefined: as the file shows. */
  dates?: 'dmy' | 'mdy' | undefined
  decimals?: 'comma' | 'point' | undefined
  /** Bad rows are sent as well: the service leaves them out and lists them. */
  sendsBad?: boolean | undefined
  /** For rows whose key is in the target. undefined: all rows are added. */
  onConflict?: OnConflict | undefined
  /** The key columns as typed: `a,b`. */
  key?: string | undefined
  /** null: no points. undefined: as found in the file. */
  points: Points | null | undefined
  isPrepared: boolean
}>

export const wantedFor = (file: File): WantedImport => ({
  table: tableName(file.name),
  target: undefined,
  names: {},
  types: {},
  points: undefined,
  isPrepared: true,
})

/** The plan, and the problems that prevent it. */
export type Planned = Omit<PlannedImport, 'problems'> & Readonly<{ problems: readonly string[] }>

export function planUpload(head: FileHead, reading: FileReading, wanted: WantedImport): Planned {
  const { target, onConflict, key = '' } = wanted
  const planned = planImport(head, reading, {
    ...wanted,
    schema: target?.schema,
    table: target?.name ?? wanted.table,
    isAppended: target !== undefined,
    known: target && new Map(target.columns.map(({ name, type }) => [name, type])),
    merge: onConflict && { onConflict, key: splitNames(key, mostKeyColumns) ?? [] },
  })
  return {
    ...planned,
    problems: planned.problems.flatMap((problem) => problemText(problem, planned.plan.table) ?? []),
  }
}

/** No index has more. */
const mostKeyColumns = 32

/** Undefined if it does not prevent an upload. */
function problemText(problem: ImportProblem, table: string): string | undefined {
  switch (problem.kind) {
    case 'no-table-name':
      return 'The table needs a name.'
    case 'no-column-name':
      return 'Every column needs a name.'
    case 'same-name':
      return `Two columns are called ${problem.name}.`
    case 'too-many-columns':
      return `PostgreSQL allows 1,600 columns, the file has ${problem.count}.`
    case 'missing-columns':
      return `${table} has no column ${problem.names.slice(0, 5).join(', ')}: rename it, or choose a new table.`
    case 'bad-key':
      return problem.names.length === 0
        ? 'Name the key columns, separated by commas.'
        : `The file has no key column ${problem.names.join(', ')}.`
    case 'wrong-encoding':
      return 'Some bytes are invalid in this encoding. Choose another encoding.'
    case 'bad-line':
      return 'PostgreSQL would refuse the file: see the line above.'
    case 'no-rows':
      return undefined
  }
}
