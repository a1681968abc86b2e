import { useEffect, useRef, useState } from 'preact/hooks'
import { openCatalog } from '../api/catalog.ts'
import { session } from '../api/session.ts'
import { droppedFiles } from '../parts/browser/files.ts'
import { sampleFile } from '../parts/browser/sample.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { Empty } from '../parts/notice.tsx'
import { ChosenFile } from './chosen-file.ts'
import { FileView } from './file-view.tsx'
import { ImportView } from './import/import-view.tsx'
import css from './upload.css' with { type: 'text' }

adoptStyles(css)

export default function UploadPage() {
  const [chosen, setChosen] = useState<ChosenFile | readonly File[] | undefined>(undefined)
  useEffect(() => void openCatalog(), [])
  useEffect(() => () => void (chosen instanceof ChosenFile && chosen.drop()), [chosen])
  const choose = (files: readonly File[], isSample = false) =>
    setChosen(files.length === 1 ? new ChosenFile(files[0]!, isSample) : files)
  const again = () => setChosen(undefined)
  const [dropped, sample] = [droppedFiles.value, sampleFile.value]
  useEffect(() => {
    if (dropped.length > 0) {
      choose(dropped)
      droppedFiles.value = []
    } else if (sample) {
      choose([sample], true)
      sampleFile.value = undefined
    }
  }, [dropped, sample])
  if (session.value?.token === null) {
    return <Empty>To upload, sign in with a key that can create tables.</Empty>
  }
  return (
    <div class="page">
      <div class="inside">
        <h1>Upload</h1>
        {chosen === undefined ? (
          <FileChoice choose={choose} />
        ) : chosen instanceof ChosenFile ? (
          <FileView key={chosen} chosen={chosen} again={again} />
        ) : (
          <ImportView key={chosen} files={chosen} again={again} />
        )}
      </div>
    </div>
  )
}

function FileChoice({ choose }: Readonly<{ choose: (files: readonly File[]) => void }>) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <div class="drop-box">
      <p>
        <strong>Drop files on any page</strong>, or{' '}
        <button type="button" class="primary" onClick={() => input.current?.click()}>
          Choose files
        </button>
      </p>
      <p class="muted">
        CSV, TSV (both also gzipped) and GeoJSON: the browser reads the file first, so that you see its
        columns and types before anything is sent.
      </p>
      <p class="muted">
        Zipped shapefiles, GeoPackage, FlatGeobuf, KML, KMZ, GPX, OSM, Excel, OpenDocument, Parquet, Arrow,
        zipped file geodatabases and MapInfo files: the service reads them. Several files at once are read by
        the service too.
      </p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="File"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])]
          if (files.length > 0) choose(files)
        }}
      />
    </div>
  )
}
