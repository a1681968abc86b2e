import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { type Act, acts } from '../parts/acts.ts'
import { useLoaded } from '../parts/loading.tsx'

// Not with the first page, but the field is there at once: what is typed before they have come is not lost.
const loadMore = () => import('./more-acts.ts').then(({ moreActs }) => moreActs())

/** Everything by its name: what can be done here, the tables, and what was run in this browser. */
export function Palette({ close }: Readonly<{ close: () => void }>) {
  const element = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const more = useLoaded(loadMore, [])
  const found = find(text, [...acts.value, ...(more.value ?? [])])
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

/** Those that have all words, in the order in which they were offered; no more than a person reads. */
function find(text: string, all: readonly Act[]): readonly Act[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word))).slice(0, 50)
}
