import { Field } from './field.tsx'

type SelectFieldProps<Value extends string> = Readonly<{
  label: string
  help?: string
  /** A value shown as it is, or with another text. */
  options: readonly (Value | readonly [value: Value, shown: string])[]
  value: Value
  choose: (value: Value) => void
}>

/** A labelled select of several texts. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, help, value, choose } = props
  const options = props.options.map((option) =>
    typeof option === 'string' ? ([option, option] as const) : option,
  )
  return (
    <Field label={label} help={help}>
      {(given) => (
        <select
          {...given}
          value={value}
          onChange={({ currentTarget }) => choose(options[currentTarget.selectedIndex]![0])}
        >
          {options.map(([each, shown]) => (
            <option key={each} value={each}>
              {shown}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
