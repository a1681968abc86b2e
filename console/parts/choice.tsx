import type { ComponentChildren } from 'preact'

export type Option = Readonly<{ at: number; name: string }>

type ChoiceProps = Readonly<{
  label: ComponentChildren
  value: number | null
  options: readonly Option[]
  choose: (at: number | null) => void
  /** What stands for none, if none may be chosen. */
  none?: string
}>

/** One of a list, or none of it. */
export function Choice({ label, value, options, choose, none }: ChoiceProps) {
  const change = (text: string) => choose(text === '' ? null : Number(text))
  return (
    <label>
      {label}{' '}
      <select value={value ?? ''} onChange={(event) => change(event.currentTarget.value)}>
        {none && <option value="">{none}</option>}
        {options.map(({ at, name }) => (
          <option key={at} value={at}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
