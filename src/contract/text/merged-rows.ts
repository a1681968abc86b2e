import type { OnConflict } from '../formats.ts'
import { plural } from './format.ts'

type Merged = Readonly<{ inserted_rows?: number; updated_rows?: number }>

/** What became of the rows of a file that were merged by a key. Undefined if they were not. */
export function mergedText(
  rows: number,
  { inserted_rows: inserted = 0, updated_rows: updated }: Merged,
  onConflict: OnConflict | undefined,
): string | undefined {
  if (updated === undefined) return undefined
  const added = `${plural(inserted, 'row')} added`
  if (onConflict !== 'nothing') return `${added}, ${plural(updated, 'row')} updated`
  return `${added}, ${plural(rows - inserted, 'row')} not stored because the key is there`
}
