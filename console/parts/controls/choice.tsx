import type { ComponentChildren } from 'preact'

export type ChoiceOption = Readonly<{ at: number; name: string }>

type ChoiceProps = Readonly<{
  label: ComponentChildren
  value: number | null
  options: readonly ChoiceOption[]
  choose: (at: number | null) => void
  /** The text of the option for no choice. Without it, one must be chosen. */
  none?: string
}>

/** A select with a label. */
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
