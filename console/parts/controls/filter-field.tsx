import { useRef } from 'preact/hooks'
import { useCommands } from '../commands.ts'
import { plural } from '../format.ts'

type FilterFieldProps = Readonly<{ label: string; value: string; change: (text: string) => void }>

/** Filters a list while typing. `/` focuses it. */
export function FilterField({ label, value, change }: FilterFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  useCommands([{ name: label, keys: '/', run: () => field.current?.focus() }])
  return (
    <input
      ref={field}
      type="search"
      aria-label={label}
      placeholder="Filter"
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  )
}

/** Below a truncated list: how many entries are not shown. */
export function LeftOut({ count, noun }: Readonly<{ count: number; noun: string }>) {
  if (count <= 0) return null
  return <p class="muted">{plural(count, `more ${noun}`)} not shown: filter to find them.</p>
}
