import { Field } from '../../parts/controls/field.tsx'

/** The address of a server, with a password: typed unseen. */
export function AddressField({
  label,
  value,
  change,
}: Readonly<{ label: string; value: string; change: (value: string) => void }>) {
  return (
    <Field
      label={label}
      help="postgres://USER:PASSWORD@HOST:PORT/postgres, with a superuser. It is stored encrypted and not shown again."
    >
      {(props) => (
        <input
          {...props}
          type="password"
          autocomplete="off"
          required
          value={value}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}
