import type { ComponentChildren } from 'preact'
import { ScrollBox } from './scroll-box.tsx'

/** A table that scrolls sideways on a narrow screen. */
export function Table({
  label,
  head,
  children,
}: Readonly<{ label: string; head: readonly string[]; children: ComponentChildren }>) {
  return (
    <ScrollBox label={label}>
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
    </ScrollBox>
  )
}
