import { useEffect, useState } from 'preact/hooks'
import { ogr2ogrLine } from '../../src/file-import/import-plan.ts'
import type { PlannedColumn } from '../../src/file-import/plan-import.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'
import { addressOf } from '../api/request.ts'
import { session } from '../api/session.ts'
import { hrefOf } from '../parts/browser/route.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { formatBytes, plural } from '../parts/format.ts'
import { Skeleton } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
import { BadRows } from './bad-rows.tsx'
import type { ChosenFile } from './chosen-file.ts'
import { ColumnTable } from './column-table.tsx'
import { FileForm } from './file-form.tsx'
import type { FileHead, FileProblem } from './file-protocol.ts'
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

function Unreadable({
  file,
  problem,
  again,
}: Readonly<{ file: File; problem: FileProblem; again: () => void }>) {
  const { username } = session.value!
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
      {problem.kind === 'other-format' && (
        <section class="panel stack" aria-labelledby="ogr2ogr">
          <h2 id="ogr2ogr">Load it with GDAL</h2>
          <p>
            <a href={hrefOf('/keys')}>Copy the token</a> of a key that can create tables, such as the Master
            key. Then run in a shell, paste the token and press Enter:
          </p>
          <CodeBlock label="Set CARTAGE_API_KEY" text="read -rs CARTAGE_API_KEY" />
          <p>In the same shell, in the folder of the file:</p>
          <CodeBlock
            label="Load it with ogr2ogr"
            text={ogr2ogrLine(file.name, { sqlUrl: addressOf('query'), username })}
          />
          <p class="muted small">
            ogr2ogr is part of GDAL. It may warn that the layer creation option GEOMETRY_NAME is not
            supported: it uses the option all the same. If the file names no coordinate system, add{' '}
            <code>-s_srs</code>, such as <code>-s_srs EPSG:25832</code>.
          </p>
        </section>
      )}
    </>
  )
}
