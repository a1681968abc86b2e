import { useMemo } from 'preact/hooks'
import type { ImportPreview } from '../../../src/contract/documents.ts'
import { importWarnings } from '../../../src/contract/text/import-warnings.ts'
import type { Geometry } from '../../geo/ewkb.ts'
import { plural } from '../../parts/format.ts'
import { ErrorNotice } from '../../parts/notice.tsx'
import { LazySmallMap } from '../../result/map/lazy-maps.tsx'
import { RejectedTable } from '../rejected-table.tsx'
import type { ServiceImport } from './service-import.ts'

type PreviewProps = Readonly<{
  run: ServiceImport
  /** Layers that are not to be imported. */
  leftOut: ReadonlySet<string>
  leaveOut: (next: ReadonlySet<string>) => void
}>

/** What the service found in a file, before anything is stored. */
export function ImportPreviewPanel({ run, leftOut, leaveOut }: PreviewProps) {
  const said = run.document.value?.get_error_text
  if (run.step.value === 'failed') {
    const error = said ? new Error(said.what_about) : run.error.value
    return <ErrorNotice title={`${run.file.name} cannot be imported as it is.`} error={error} />
  }
  const { preview, warnings = null, rejected = [], rejected_rows = 0 } = run.document.value ?? {}
  return (
    <section class="panel stack" aria-labelledby="preview">
      <h2 id="preview">In the file</h2>
      {!preview && <p class="muted">Reading the file. Nothing is stored yet.</p>}
      {preview && (
        <Layers
          preview={preview}
          isOne={/\.(xlsx|ods)$/i.test(run.file.name)}
          leftOut={leftOut}
          leaveOut={leaveOut}
        />
      )}
      {importWarnings(warnings).map((text) => (
        <p key={text} class="small">
          {text}
        </p>
      ))}
      {rejected_rows > 0 && (
        <>
          <p>{plural(rejected_rows, 'row')} cannot be stored. To import the others, leave out bad rows.</p>
          <RejectedTable rejected={rejected} count={rejected_rows} />
        </>
      )}
    </section>
  )
}

/** `isOne`: a workbook becomes one table of one sheet, by default the first. */
type LayersProps = Omit<PreviewProps, 'run'> & Readonly<{ preview: readonly ImportPreview[]; isOne: boolean }>

function Layers({ preview, isOne, leftOut, leaveOut }: LayersProps) {
  const canChoose = canChooseLayers(preview)
  const choose = (layer: string) => {
    const next = new Set(isOne ? preview.map((one) => one.layer!) : leftOut)
    if (!next.delete(layer)) next.add(layer)
    leaveOut(next)
  }
  const isChosen = (layer: string, at: number) =>
    isOne && leftOut.size === 0 ? at === 0 : !leftOut.has(layer)
  return (
    <>
      {preview.map((one, at) => (
        <div key={one.layer ?? one.table} class="stack tight">
          <div class="row">
            {canChoose ? (
              <label class="check">
                <input
                  type={isOne ? 'radio' : 'checkbox'}
                  checked={isChosen(one.layer!, at)}
                  onChange={() => choose(one.layer!)}
                />
                <strong>{one.layer}</strong>
              </label>
            ) : (
              <strong>{one.layer ?? one.table}</strong>
            )}
            <span class="muted">
              {plural(one.rows, 'row')}, {plural(one.columns.length, 'column')}
            </span>
          </div>
          <p class="muted small">{originOf(one)}</p>
          <details open={at === 0}>
            <summary>First rows of {one.layer ?? one.table}</summary>
            <FirstRows of={one} />
          </details>
          {at === 0 && one.first_shapes.length > 0 && <FirstShapes of={one} />}
        </div>
      ))}
    </>
  )
}

function originOf({ encoding, reference_system: system, first_shapes }: ImportPreview): string {
  const text = encoding === null ? undefined : `Text in ${encoding}`
  const told = system && (system.name ?? 'a reference system without a number')
  const place = told ? `coordinates in ${told}${system.srid ? ` (EPSG:${system.srid})` : ''}` : undefined
  const assumed = !system && first_shapes.length > 0 ? 'no reference system told' : undefined
  return [text, place ?? assumed].filter(Boolean).join(' · ')
}

/** As many as the service sends. */
function FirstShapes({ of: { first_shapes, rows } }: Readonly<{ of: ImportPreview }>) {
  const shape = useMemo(
    () => ({ type: 'GeometryCollection' as const, geometries: first_shapes as unknown as Geometry[] }),
    [first_shapes],
  )
  return (
    <figure class="first-shapes">
      <LazySmallMap shape={shape} />
      <figcaption class="muted small">
        {first_shapes.length < rows ? `The first ${plural(first_shapes.length, 'shape')}` : 'All shapes'}
      </figcaption>
    </figure>
  )
}

export const canChooseLayers = (preview: readonly ImportPreview[]) =>
  preview.length > 1 && preview.every(({ layer }) => layer !== null)

function FirstRows({ of: { columns, first_rows, table } }: Readonly<{ of: ImportPreview }>) {
  const shown = columns.slice(0, first_rows[0]?.length ?? columns.length)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <div class="scroll-x first-rows" tabIndex={0} role="region" aria-label={`First rows of ${table}`}>
      <table class="list">
        <thead>
          <tr>
            {shown.map(({ name, type }) => (
              <th key={name} scope="col">
                {name}
                <div class="muted small">{type}</div>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first_rows.map((row, at) => (
            <tr key={at}>
              {row.map((value, column) => (
                <td key={column}>{value ?? <span class="muted">NULL</span>}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {columns.length > shown.length && (
        <p class="muted">{plural(columns.length - shown.length, 'more column')} not shown here.</p>
      )}
    </div>
  )
}
