import { useEffect, useState } from 'preact/hooks'
import { hasServiceEnding } from '../../src/contract/import-names.ts'
import type { PlannedColumn } from '../../src/file-import/plan-import.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'
import { formatBytes, plural } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { BadRows } from './bad-rows.tsx'
import type { ChosenFile } from './chosen-file.ts'
import { ColumnTable } from './column-table.tsx'
import { FileForm } from './file-form.tsx'
import type { FileHead, FileProblem } from './file-protocol.ts'
import { ImportView } from './import/import-view.tsx'
import { LoadByGdal } from './import/load-by-gdal.tsx'
import { ImportRun } from './import-run.ts'
import { RunView } from './run-view.tsx'
import { StartPanel } from './start-panel.tsx'
import { planUpload, type WantedImport, wantedFor } from './wanted-import.ts'

type FileViewProps = Readonly<{ chosen: ChosenFile; again: () => void }>

/** A chosen file: its form, and then its upload. */
export function FileView({ chosen, again }: FileViewProps) {
  const [wanted, want] = useState<WantedImport>(() => wantedFor(chosen.file))
  const [run, setRun] = useState<ImportRun | undefined>(undefined)
  const head = chosen.head.value
  const reading = chosen.reading.value
  const problem = chosen.problem.value
  const start = (changed = wanted) => {
    const { plan } = planUpload(head!, reading!, changed)
    want(changed)
    setRun(new ImportRun(plan, () => chosen.bodyFor(plan)))
  }
  const startsItself = chosen.isSample && reading?.isWhole
  useEffect(() => {
    if (startsItself) start()
  }, [startsItself])
  if (problem) return <Unreadable file={chosen.file} problem={problem} again={again} />
  if (!head || !reading) return <Skeleton />
  const planned = planUpload(head, reading, wanted)
  const makeText = ({ name }: PlannedColumn) => {
    const at = planned.columns.findIndex((column) => column.name === name)
    start({ ...wanted, types: { ...wanted.types, [at]: 'text' } })
  }
  return (
    <>
      <FileHeader
        file={chosen.file}
        head={head}
        reading={reading}
        columns={planned.columns.length}
        again={run ? undefined : again}
      />
      {run ? (
        <RunView
          run={run}
          chosen={chosen}
          planned={planned}
          makeText={makeText}
          leaveOutBad={() => start({ ...wanted, sendsBad: true })}
          change={() => setRun(undefined)}
          again={again}
        />
      ) : (
        <>
          <BadRows chosen={chosen} reading={reading} wanted={wanted} want={want} />
          <FileForm {...{ chosen, head, reading, wanted, want, planned }} />
          <ColumnTable chosen={chosen} head={head} planned={planned} wanted={wanted} want={want} />
          <StartPanel
            file={chosen.file}
            head={head}
            reading={reading}
            planned={planned}
            start={() => start()}
          />
        </>
      )}
    </>
  )
}

type HeaderProps = Readonly<{
  file: File
  head: FileHead
  reading: FileReading
  columns: number
  again: (() => void) | undefined
}>

function FileHeader({ file, head, reading, columns, again }: HeaderProps) {
  const { bytes, isWhole, inference } = reading
  const total = head.isGzip ? undefined : head.body.size
  const rows = plural(inference.rows, 'row')
  return (
    <div class="row">
      <strong class="file-name">{file.name}</strong>
      <span class="muted">
        {formatBytes(file.size)} · {plural(columns, 'column')} ·{' '}
        <span data-testid="reading">
          {isWhole
            ? `${rows}, all read`
            : `reading: ${rows}, ${total ? `${Math.round((bytes / total) * 100)} %` : formatBytes(bytes)}`}
        </span>
      </span>
      <span class="grow" />
      {again && (
        <button type="button" onClick={again}>
          Choose another file
        </button>
      )}
    </div>
  )
}

type UnreadableProps = Readonly<{ file: File; problem: FileProblem; again: () => void }>

/** A file that the browser cannot read. The service may. */
function Unreadable({ file, problem, again }: UnreadableProps) {
  if (problem.kind === 'other-format' && hasServiceEnding(file.name))
    return <ImportView files={[file]} again={again} otherwise={<LoadByGdal file={file} />} />
  return (
    <>
      <Notice
        kind="warning"
        acts={
          <button type="button" onClick={again}>
            Choose another file
          </button>
        }
      >
        <p>
          <strong>{file.name}</strong>: {problem.message}
        </p>
      </Notice>
      {problem.kind === 'other-format' && <LoadByGdal file={file} />}
    </>
  )
}
