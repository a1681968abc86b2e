import { Field } from '../parts/controls/field.tsx'

/** An input for a name, a size or a rate. */
export function TextField({
  label,
  value,
  change,
  help,
  placeholder,
  isRequired = false,
}: Readonly<{
  label: string
  value: string
  change: (text: string) => void
  help?: string
  placeholder?: string
  isRequired?: boolean
}>) {
  return (
    <Field label={label} help={help}>
      {(props) => (
        <input
          {...props}
          autocapitalize="none"
          autocomplete="off"
          spellcheck={false}
          required={isRequired}
          placeholder={placeholder}
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}
