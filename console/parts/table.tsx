import type { ComponentChildren } from 'preact'

/** A table that scrolls sideways on a narrow screen. Its box takes the focus, so that keys scroll it. */
export function Table({
  label,
  head,
  children,
}: Readonly<{ label: string; head: readonly string[]; children: ComponentChildren }>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <section class="matrix" tabIndex={0} aria-label={label}>
      <table class="list">
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
