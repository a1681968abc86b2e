import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

export type FieldProps = Readonly<{ id: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }>

/** A label with its control, and below it a help text or the error. */
export function Field({
  label,
  help,
  problem,
  children,
}: Readonly<{
  label: ComponentChildren
  help?: ComponentChildren
  problem?: string | undefined
  children: (props: FieldProps) => ComponentChildren
}>) {
  const id = useId()
  const described = problem || help ? { 'aria-describedby': `${id}-note` } : {}
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...described, ...(problem ? { 'aria-invalid': 'true' } : {}) })}
      {(problem || help) && (
        <span id={`${id}-note`} class={problem ? 'problem' : 'help'}>
          {problem || help}
        </span>
      )}
    </div>
  )
}
