import type { CopyAnswer } from '../../contract/documents.ts'
import type { Loaded } from '../../copy/load/load.ts'

/** The answer to a copyfrom. */
export function copyDocument({ rows, rejected, merged }: Loaded, ms: number): CopyAnswer {
  return {
    time: ms / 1000,
    total_rows: rows,
    ...(merged && { inserted_rows: merged.inserted, updated_rows: merged.updated }),
    ...(rejected && { rejected_rows: rejected.count, rejected: rejected.list }),
  }
}
