import { Field } from '../parts/controls/field.tsx'

type TextProps = Readonly<{
  label: string
  example: string
  value: string
  change: (value: string) => void
  isRequired?: boolean
}>

/** A labelled field for one or several names. */
export function TextField({ label, example, value, change, isRequired = false }: TextProps) {
  return (
    <Field label={label}>
      {(props) => (
        <input
          {...props}
          spellcheck={false}
          autocapitalize="none"
          value={value}
          required={isRequired}
          placeholder={example}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}
