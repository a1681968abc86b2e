import { useRef, useState } from 'preact/hooks'
import { forgetKept, keep, readAllKept } from '../api/kept.ts'
import { Confirm } from '../parts/dialog.tsx'
import { formatBytes, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { saveFile } from '../parts/save-file.ts'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'

type Kept = Readonly<Record<string, unknown>>

/** What is not on the service but here: it can be taken to another browser, and forgotten. */
export function KeptPanel() {
  const kept = useLoaded(() => readAllKept(), [])
  const file = useRef<HTMLInputElement>(null)
  const [forgetting, askToForget] = useState<string | undefined>(undefined)
  const { error, begin } = useWork()
  const load = () =>
    begin(async () => {
      const read = await readKeptFile(file.current!.files![0]!)
      for (const [name, value] of Object.entries(read)) await keep(name, value)
      toast('Taken over')
      kept.reload()
    }).finally(() => {
      file.current!.value = ''
    })
  return (
    <section class="panel stack" aria-labelledby="kept">
      <div class="row">
        <h2 id="kept" class="grow">
          What this browser keeps
        </h2>
        <button
          type="button"
          onClick={() => saveFile('cartage-browser.json', JSON.stringify({ kept: kept.value }, null, 2))}
        >
          Export
        </button>
        <button type="button" onClick={() => file.current!.click()}>
          Import
        </button>
        <input
          ref={file}
          type="file"
          accept=".json"
          hidden
          aria-label="File of what a browser kept"
          onChange={load}
        />
      </div>
      <p class="muted">Of this user, on this computer only. Never a token, never a result.</p>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={kept} lines={2}>
        {(found) => <Entries kept={found} forget={askToForget} />}
      </Load>
      {forgetting !== undefined && (
        <Confirm
          title={`Forget the ${forgetting}?`}
          act="Forget"
          onDone={async (isConfirmed) => {
            askToForget(undefined)
            if (!isConfirmed) return
            await forgetKept(forgetting)
            kept.reload()
          }}
        >
          <p>They are nowhere else, so they cannot be brought back.</p>
        </Confirm>
      )}
    </section>
  )
}

function Entries({ kept, forget }: Readonly<{ kept: Kept; forget: (name: string) => void }>) {
  const names = Object.keys(kept).sort()
  if (names.length === 0) return <p>Nothing yet.</p>
  return (
    <ul class="kept">
      {names.map((name) => (
        <li key={name} class="row">
          <span class="grow">
            {name}: <span class="muted">{sizeOf(kept[name])}</span>
          </span>
          <button type="button" class="danger" aria-label={`Forget ${name}`} onClick={() => forget(name)}>
            Forget
          </button>
        </li>
      ))}
    </ul>
  )
}

function sizeOf(value: unknown): string {
  const list = Array.isArray(value) ? value : Object.values(value ?? {}).find(Array.isArray)
  const bytes = formatBytes(JSON.stringify(value ?? null).length)
  return list ? `${plural(list.length, 'entry', 'entries')}, ${bytes}` : bytes
}

async function readKeptFile(file: File): Promise<Kept> {
  const { kept } = (await file
    .text()
    .then((text) => JSON.parse(text))
    .catch(() => ({}))) as { kept?: unknown }
  if (typeof kept !== 'object' || kept === null || Array.isArray(kept)) {
    throw new Error(`${file.name} is not what a browser kept and was exported here`)
  }
  return kept as Kept
}
