import type { Control } from '../postgres/transaction.ts'
import { findImport, replaceResult, resultsBeyond } from './import-store.ts'

/** For the rows that imports of one user have listed, and as much for resumable uploads. No quota of the user counts them. */
export const keptRoom = { allBytes: 32 * 1024 * 1024, smallBytes: 4 * 1024 }

/** Older results beyond the room lose their lists; the number of rejected rows stays. */
export async function boundResults(control: Control, userId: number): Promise<void> {
  for (const id of await resultsBeyond(control, userId, keptRoom)) {
    const { preview: _preview, ...result } = (await findImport(control, { userId }, id))?.result ?? {}
    if (!('tables' in result)) continue
    const rejected = result.rejected && { count: result.rejected.count, rows: [] }
    await replaceResult(control, userId, id, { ...result, rejected })
  }
}
