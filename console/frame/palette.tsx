import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { catalog } from '../api/catalog.ts'
import { readHistory } from '../api/history.ts'
import { session } from '../api/session.ts'
import { packStatement } from '../api/share.ts'
import { type Act, acts } from '../parts/acts.ts'
import { shorten } from '../parts/format.ts'
import { useLoaded } from '../parts/loading.tsx'
import { navigate, pathTo } from '../parts/route.ts'

/** Everything by its name: what can be done here, the tables, and what was run in this browser. */
export default function Palette({ close }: Readonly<{ close: () => void }>) {
  const element = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const history = useLoaded(historyActs, [])
  const found = find(text, [...acts.value, ...tableActs(), ...(history.value ?? [])])
  useEffect(() => element.current?.showModal(), [])
  const run = (act: Act | undefined) => {
    close()
    element.current?.close()
    act?.run()
  }
  const cancel = (event: Event) => {
    event.preventDefault()
    close()
  }
  const move = (event: KeyboardEvent) => {
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: found.length - 1 }[event.key]
    if (event.key === 'Enter') run(found[at])
    else if (next !== undefined) setAt(Math.min(Math.max(next, 0), found.length - 1))
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={element} onCancel={cancel} aria-label="Find an act">
      <div class="palette">
        <input
          role="combobox"
          aria-label="Find an act, a page, a table"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
          placeholder="Find an act, a page, a table"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={move}
        />
        <div class="palette-list" id={id} role="listbox" aria-label="Acts">
          {found.map((act, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
            <div
              key={`${index} ${act.name}`}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => run(act)}
              onPointerMove={() => setAt(index)}
            >
              <span class="grow">{act.name}</span>
              {act.keys && <kbd>{act.keys}</kbd>}
            </div>
          ))}
        </div>
      </div>
    </dialog>
  )
}

const tableActs = (): Act[] =>
  catalog.value.tables.map(({ schema, name, kind }) => ({
    name: `${schema}.${name}, ${kind}`,
    run: () => navigate(pathTo('tables', schema, name)),
  }))

/** Into a new draft, as a link would: never run by itself. */
async function historyActs(): Promise<Act[]> {
  const entries = session.value ? await readHistory() : []
  return entries.map(({ text }) => ({
    name: `Run before: ${shorten(text, 120)}`,
    run: () => void packStatement(text).then((packed) => navigate(`/sql#s=${packed}`)),
  }))
}

/** Those that have all words, in the order in which they were offered; no more than a person reads. */
function find(text: string, all: readonly Act[]): readonly Act[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))).slice(0, 50)
}
