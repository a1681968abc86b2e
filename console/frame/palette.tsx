import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { type Command, commands, shownKeys } from '../parts/commands.ts'
import { useLoaded } from '../parts/loading.tsx'
import { useSettled } from '../parts/use-settled.ts'

// Loaded when the palette opens. The field is shown first, so nothing typed is lost.
const loadMore = () => import('./more-commands.ts').then(({ moreCommands }) => moreCommands())

const readKept = async (text: string, signal: AbortSignal) => {
  const { searchKept } = await import('./more-commands.ts')
  return searchKept(text, signal)
}

const noneKept = [] as const

/** The service is asked when typing has stopped for so long. */
const typingMs = 200

/** Finds commands and tables by name, and statements of the history, of this browser and of the service, by their text. */
export function Palette({ close }: Readonly<{ close: () => void }>) {
  const element = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const id = useId()
  const more = useLoaded(loadMore, [])
  const settled = useSettled(text, typingMs)
  const kept = useLoaded((signal) => readKept(settled, signal), [settled])
  const found = find(text, [...commands.value, ...(more.value?.(kept.value ?? noneKept) ?? [])])
  useEffect(() => element.current?.showModal(), [])
  const run = (command: Command | undefined) => {
    close()
    element.current?.close()
    command?.run()
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
    <dialog ref={element} onCancel={cancel} aria-label="Command palette">
      <div class="palette">
        <input
          role="combobox"
          aria-label="Find a command, page or table"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
          placeholder="Find a command, page or table"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={move}
        />
        <PaletteList id={id} commands={found} at={at} run={run} point={setAt} />
      </div>
    </dialog>
  )
}

type ListProps = Readonly<{
  id: string
  commands: readonly Command[]
  at: number
  run: (command: Command) => void
  point: (at: number) => void
}>

function PaletteList({ id, commands: found, at, run, point }: ListProps) {
  return (
    <div class="palette-list" id={id} role="listbox" aria-label="Commands">
      {found.map((command, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys
        <div
          key={`${index} ${command.name}`}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onClick={() => run(command)}
          onPointerMove={() => point(index)}
        >
          <span class="grow">{command.name}</span>
          {command.keys && shownKeys(command.keys).map((key) => <kbd key={key}>{key}</kbd>)}
        </div>
      ))}
    </div>
  )
}

/** The first 50 commands that contain all words. */
function find(text: string, all: readonly Command[]): readonly Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const has = ({ name, searched = name.toLowerCase() }: Command) =>
    words.every((word) => searched.includes(word))
  return all.filter(has).slice(0, 50)
}
