import type { FileReading } from '../../src/file-import/read-types.ts'
import { plural } from '../parts/format.ts'
import { useLoaded } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import type { ChosenFile } from './chosen-file.ts'
import type { WantedImport } from './wanted-import.ts'

type BadRowsProps = Readonly<{
  chosen: ChosenFile
  reading: FileReading
  wanted: WantedImport
  want: (next: WantedImport) => void
}>

/** The rows that PostgreSQL would refuse: the first of them, and the choice to leave them out. */
export function BadRows({ chosen, reading, wanted, want }: BadRowsProps) {
  const { badLine, badRows, isCutShort } = reading.inference
  if (!badLine) return null
  const others = isCutShort ? '' : ` ${plural(badRows, 'row')} of the file cannot be stored.`
  return (
    <>
      <Notice kind="warning">
        <p>
          <strong>Line {badLine.line.toLocaleString('en-US')}:</strong> {badLine.message}
          {others}
        </p>
        {!isCutShort && (
          <label class="check">
            <input
              type="checkbox"
              checked={wanted.sendsBad === true}
              onChange={() => want({ ...wanted, sendsBad: !wanted.sendsBad })}
            />
            Leave out bad rows. You can download them after the upload
          </label>
        )}
      </Notice>
      <BadLine chosen={chosen} line={badLine.line} />
    </>
  )
}

export function BadLine({ chosen, line }: Readonly<{ chosen: ChosenFile; line: number }>) {
  const text = useLoaded(() => chosen.line(line), [line])
  return (
    <figure class="bad-line">
      <figcaption class="muted">Line {line.toLocaleString('en-US')} of the file</figcaption>
      <pre>{text.value ?? '…'}</pre>
    </figure>
  )
}
