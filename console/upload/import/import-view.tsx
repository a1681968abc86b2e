import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ImportOptions } from '../../../src/client/api/imports-api.ts'
import { hasCode } from '../../../src/client/cartage-error.ts'
import { joinNames } from '../../../src/contract/text/name-list.ts'
import { formatBytes, plural } from '../../parts/format.ts'
import { ImportForm } from './import-form.tsx'
import { canChooseLayers, ImportPreviewPanel } from './import-preview.tsx'
import { ImportProgress } from './import-progress.tsx'
import { ServiceImport } from './service-import.ts'

type ImportViewProps = Readonly<{
  files: readonly File[]
  again: () => void
  /** Shown if the service cannot read such files. */
  otherwise?: ComponentChildren
}>

/** The contents of one file. A small one is read without a request. */
function usePreview(files: readonly File[]) {
  const file = files.length === 1 ? files[0] : undefined
  const [preview, setPreview] = useState<ServiceImport | undefined>(undefined)
  const [leftOut, leaveOut] = useState<ReadonlySet<string>>(new Set())
  const look = () => file && setPreview(new ServiceImport(file, { preview: true, on_error: 'skip' }))
  useEffect(() => {
    if (file && file.size <= mostUnasked) look()
  }, [file])
  useEffect(() => () => preview?.cancel(), [preview])
  const found = preview?.document.value?.preview ?? []
  const layers = found.map(({ layer }) => layer!).filter((layer) => !leftOut.has(layer))
  const choice = canChooseLayers(found) && leftOut.size > 0 ? { layer: joinNames(layers) } : undefined
  return { preview, look, choice, leftOut, leaveOut }
}

const mostUnasked = 16 * 1024 * 1024

/** Files that the service imports, one after another. */
export function ImportView({ files, again, otherwise }: ImportViewProps) {
  const [runs, setRuns] = useState<readonly ServiceImport[] | undefined>(undefined)
  const { preview, look, choice, leftOut, leaveOut } = usePreview(files)
  const start = async (options: ImportOptions) => {
    preview?.cancel()
    setRuns([])
    for (const file of files) {
      const run = new ServiceImport(file, { ...options, ...choice })
      setRuns((former) => [...(former ?? []), run])
      await run.ended
    }
  }
  const isOver = runs?.length === files.length && runs.every((run) => run.isOver.value)
  return (
    <>
      {!runs && (
        <div class="stack tight">
          {files.map((file) => (
            <div key={file} class="row">
              <strong class="file-name">{file.name}</strong>
              <span class="muted">{formatBytes(file.size)}</span>
            </div>
          ))}
        </div>
      )}
      {!runs && preview && <ImportPreviewPanel run={preview} leftOut={leftOut} leaveOut={leaveOut} />}
      {!runs && !preview && files.length === 1 && (
        <div class="row">
          <button type="button" onClick={look}>
            Show layers and first rows
          </button>
          <span class="muted">The preview sends the file once, and the import sends it again.</span>
        </div>
      )}
      {!runs && (
        <ImportForm
          isEmpty={choice?.layer === ''}
          isOneFile={files.length === 1}
          act={files.length === 1 ? 'Import' : `Import ${plural(files.length, 'file')}`}
          start={(options) => void start(options)}
        />
      )}
      {runs?.map((run) => (
        <ImportProgress key={run} run={run} />
      ))}
      {[...(runs ?? []), ...(preview ? [preview] : [])].some((run) =>
        hasCode(run.error.value, 'imports-disabled'),
      ) && otherwise}
      {(!runs || isOver) && (
        <div class="row">
          <button type="button" onClick={again}>
            Choose another file
          </button>
        </div>
      )}
    </>
  )
}
