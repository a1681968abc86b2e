import { useRef, useState } from 'preact/hooks'
import { useCommands } from '../../parts/commands.ts'
import { toast } from '../../parts/toast.tsx'
import type { ResultLook } from '../result-look.ts'

/** Searches all rows, from the selected one on. */
export function Find({ look }: Readonly<{ look: ResultLook }>) {
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  useCommands([{ name: 'Find in the result', keys: '/', run: () => input.current?.focus() }])
  const find = async (event: Event) => {
    event.preventDefault()
    if (text !== '' && !(await look.find(text))) toast(`No row contains “${text}”`)
  }
  return (
    <form class="find" role="search" onSubmit={find}>
      <input
        ref={input}
        type="search"
        aria-label="Find in all rows"
        placeholder="Find"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  )
}
