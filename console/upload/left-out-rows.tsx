import type { RejectedRow } from '../../src/contract/documents.ts'
import { rejectsFile } from '../../src/file-import/rejects-file.ts'
import { saveFile } from '../parts/browser/files.ts'
import { plural } from '../parts/format.ts'
import type { ChosenFile } from './chosen-file.ts'
import { RejectedTable } from './rejected-table.tsx'

type LeftOutProps = Readonly<{ chosen: ChosenFile; count: number; rejected: readonly RejectedRow[] }>

/** The rows that PostgreSQL refused: the first of them with the reason, all of them as a file. */
export function LeftOutRows({ chosen, count, rejected }: LeftOutProps) {
  const name = `${chosen.file.name.replace(/\.gz$/i, '').replace(/\.\w+$/, '')}-rejected.csv`
  const save = () =>
    saveFile(name, new Blob([rejectsFile(chosen.head.value!, rejected)], { type: 'text/csv' }))
  return (
    <>
      <p class="row">
        {plural(count, 'row was', 'rows were')} left out.{' '}
        <button type="button" onClick={save}>
          Download left out rows
        </button>
      </p>
      <RejectedTable count={count} rejected={rejected} />
    </>
  )
}
