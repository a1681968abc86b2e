import { useEffect, useRef, useState } from 'preact/hooks'
import { openCatalog } from '../api/catalog.ts'
import { session } from '../api/session.ts'
import { droppedFile } from '../parts/browser/files.ts'
import { sampleFile } from '../parts/browser/sample.ts'
import { adoptStyles } from '../parts/browser/styles.ts'
import { Empty } from '../parts/notice.tsx'
import { ChosenFile } from './chosen-file.ts'
import { FileView } from './file-view.tsx'
import css from './upload.css' with { type: 'text' }

adoptStyles(css)

export default function UploadPage() {
  const [chosen, choose] = useState<ChosenFile | undefined>(undefined)
  useEffect(() => void openCatalog(), [])
  useEffect(() => () => chosen?.drop(), [chosen])
  const dropped = droppedFile.value ?? sampleFile.value
  useEffect(() => {
    if (!dropped) return
    choose(new ChosenFile(dropped, dropped === sampleFile.value))
    droppedFile.value = undefined
    sampleFile.value = undefined
  }, [dropped])
  if (session.value?.token === null) {
    return <Empty>To upload, sign in with a key that can create tables.</Empty>
  }
  return (
    <div class="page">
      <div class="inside">
        <h1>Upload</h1>
        {chosen ? (
          <FileView key={chosen} chosen={chosen} again={() => choose(undefined)} />
        ) : (
          <FileChoice choose={(file) => choose(new ChosenFile(file))} />
        )}
      </div>
    </div>
  )
}

function FileChoice({ choose }: Readonly<{ choose: (file: File) => void }>) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <div class="drop-box">
      <p>
        <strong>Drop a file on any page</strong>, or{' '}
        <button type="button" class="primary" onClick={() => input.current?.click()}>
          Choose a file
        </button>
      </p>
      <p class="muted">
        CSV, TSV (both also gzipped) or GeoJSON. The browser reads the file first: you see its columns and
        types before anything is sent.
      </p>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="File"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? []
          if (file) choose(file)
        }}
      />
    </div>
  )
}
