import { useRef, useState } from 'preact/hooks'
import { forgetKept, keep, readAllKept } from '../api/kept.ts'
import { saveFile } from '../parts/browser/files.ts'
import { Confirm } from '../parts/controls/dialog.tsx'
import { formatBytes, plural } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { forgetKeptResults, type KeptResult, readKeptResults } from '../result/kept-results.ts'

type Kept = Readonly<Record<string, unknown>>

/** What is stored in this browser. It can be exported, imported and deleted. */
export function KeptPanel() {
  const kept = useLoaded(() => readAllKept(), [])
  const results = useLoaded(() => readKeptResults(), [])
  const file = useRef<HTMLInputElement>(null)
  const [forgetting, askToForget] = useState<string | undefined>(undefined)
  const { error, begin } = useWork()
  const load = () =>
    begin(async () => {
      const read = await readKeptFile(file.current!.files![0]!)
      for (const [name, value] of Object.entries(read)) await keep(name, value)
      toast('Imported')
      kept.reload()
    }).finally(() => {
      file.current!.value = ''
    })
  return (
    <section class="panel stack" aria-labelledby="kept">
      <div class="row">
        <h2 id="kept" class="grow">
          Stored in this browser
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
        <input ref={file} type="file" accept=".json" hidden aria-label="Browser data file" onChange={load} />
      </div>
      <p class="muted">
        Only for this user, only on this computer. No tokens; results only if you pin them. Export leaves
        results out.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={kept} lines={2}>
        {(found) => <Entries kept={found} results={results.value ?? []} forget={askToForget} />}
      </Load>
      {forgetting !== undefined && (
        <Confirm
          title={`Delete ${forgetting}?`}
          act="Delete"
          onDone={async (isConfirmed) => {
            askToForget(undefined)
            if (!isConfirmed) return
            await (forgetting === pinnedResults ? forgetKeptResults() : forgetKept(forgetting))
            kept.reload()
            results.reload()
          }}
        >
          <p>They are stored nowhere else. This cannot be undone.</p>
        </Confirm>
      )}
    </section>
  )
}

const pinnedResults = 'pinned results'

type EntriesProps = Readonly<{
  kept: Kept
  results: readonly KeptResult[]
  forget: (name: string) => void
}>

function Entries({ kept, results, forget }: EntriesProps) {
  const sizes = Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, sizeOf(value)]))
  const bytes = results.reduce((sum, each) => sum + each.bytes, 0)
  if (results.length > 0)
    sizes[pinnedResults] = `${plural(results.length, 'entry', 'entries')}, ${formatBytes(bytes)}`
  const names = Object.keys(sizes).sort()
  if (names.length === 0) return <p>Nothing yet.</p>
  return (
    <ul class="kept">
      {names.map((name) => (
        <li key={name} class="row">
          <span class="grow">
            {name}: <span class="muted">{sizes[name]}</span>
          </span>
          <button type="button" class="danger" aria-label={`Delete ${name}`} onClick={() => forget(name)}>
            Delete
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
    throw new Error(`${file.name} is not a browser data file exported here`)
  }
  return kept as Kept
}
