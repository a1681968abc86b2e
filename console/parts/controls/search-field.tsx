import { Field } from './field.tsx'

type SearchFieldProps = Readonly<{ value: string; change: (text: string) => void }>

/** At the top of a dialog with a list. */
export function SearchField({ value, change }: SearchFieldProps) {
  return (
    <Field label="Search">
      {(props) => (
        <input
          {...props}
          type="search"
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}
