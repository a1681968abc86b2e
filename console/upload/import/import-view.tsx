import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ImportOptions } from '../../../src/client/api/imports-api.ts'
import { hasCode } from '../../../src/client/cartage-error.ts'
import { formatBytes, plural } from '../../parts/format.ts'
import { ImportForm } from './import-form.tsx'
import { ImportProgress } from './import-progress.tsx'
import { ServiceImport } from './service-import.ts'

type ImportViewProps = Readonly<{
  files: readonly File[]
  again: () => void
  /** Shown if the service cannot read such files. */
  otherwise?: ComponentChildren
}>

/** Files that the service imports, one after the other. */
export function ImportView({ files, again, otherwise }: ImportViewProps) {
  const [runs, setRuns] = useState<readonly ServiceImport[] | undefined>(undefined)
  const start = async (options: ImportOptions) => {
    setRuns([])
    for (const file of files) {
      const run = new ServiceImport(file, options)
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
      {!runs && (
        <ImportForm
          isOneFile={files.length === 1}
          act={files.length === 1 ? 'Import' : `Import ${plural(files.length, 'file')}`}
          start={(options) => void start(options)}
        />
      )}
      {runs?.map((run) => (
        <ImportProgress key={run} run={run} />
      ))}
      {runs?.some((run) => hasCode(run.error.value, 'imports-disabled')) && otherwise}
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
