import type { ErrorCode } from '../contract/error-codes.ts'
import type { ImportStatements } from './import-plan.ts'

/** What an import needs of the service. */
export type ImportService = Readonly<{
  sql: (text: string) => Promise<readonly unknown[]>
  /** The COPY with the file, and the CREATE TABLE before it: all of it, or nothing. */
  copy: (statements: Pick<ImportStatements, 'create' | 'copy'>) => Promise<number>
  /** Whether the rows may be stored although this was thrown: see isOutcomeUnknown. */
  isLost: (error: unknown) => boolean
  /** Ends when the service answers again, or throws when it has waited long enough. */
  untilBack: () => Promise<unknown>
}>

/** Thrown if it is unknown whether the rows are stored. */
export class ImportInDoubt extends Error {
  constructor(cause: unknown) {
    super('It is unknown whether the rows were stored', { cause })
    this.name = 'ImportInDoubt'
  }
}

/** Finds errors before the file is sent, and makes sure that a table found afterwards is the one of this import. */
export async function checkImport(
  { sql }: Pick<ImportService, 'sql'>,
  { tryCreate }: ImportStatements,
): Promise<void> {
  if (tryCreate !== undefined) await sql(tryCreate)
}

/**
 * Sends the rows and returns how many are stored. Call checkImport before it. If the answer is lost, it looks for the
 * new table: if the table exists, its rows are stored.
 */
export async function storeRows(service: ImportService, statements: ImportStatements): Promise<number> {
  const { tryCreate, count } = statements
  try {
    return await service.copy(statements)
  } catch (error) {
    if (!service.isLost(error)) throw error
    if (tryCreate === undefined) throw new ImportInDoubt(error)
    const rows = await rowsOfNewTable(service, tryCreate, count).catch(() => {
      throw new ImportInDoubt(error)
    })
    if (rows === undefined) throw error
    return rows
  }
}

/** Undefined if the table does not exist. Waits for the COPY, if it is still running. */
async function rowsOfNewTable(
  { sql, isLost, untilBack }: ImportService,
  tryCreate: string,
  count: string,
): Promise<number | undefined> {
  try {
    await sql(tryCreate).catch(async (error: unknown) => {
      if (!isLost(error)) throw error
      await untilBack()
      await sql(tryCreate)
    })
    return undefined
  } catch (error) {
    if ((error as { sqlstate?: unknown }).sqlstate !== duplicateTable) throw error
    const [counted] = await sql(count)
    return Number((counted as { rows: unknown }).rows)
  }
}

const duplicateTable = '42P07'

/**
 * Whether an answer leaves open what became of the request. An error with a code of the service stored nothing; that of a
 * proxy has no such code, and no answer (status 0) proves nothing.
 */
export function isOutcomeUnknown({
  status,
  code,
}: Readonly<{ status: number; code?: string | undefined }>): boolean {
  if (status === 0 || tellsNothing.has(code)) return true
  return status >= 500 && code === undefined
}

/** `request-repeated`: browsers repeat a request that got no answer on a kept-alive connection. */
const tellsNothing: ReadonlySet<string | undefined> = new Set<ErrorCode>([
  'copy-outcome-unknown',
  'request-repeated',
  'upload-outcome-unknown',
  'upload-locked',
])
