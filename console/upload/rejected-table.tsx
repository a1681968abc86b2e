import type { RejectedRow } from '../../src/contract/documents.ts'
import { plural } from '../parts/format.ts'

type RejectedProps = Readonly<{ count: number; rejected: readonly RejectedRow[] }>

/** The first rows that PostgreSQL refused, with the reason. */
export function RejectedTable({ count, rejected }: RejectedProps) {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Rows that were left out">
        <table class="list">
          <caption class="hidden-text">Rows that were left out</caption>
          <thead>
            <tr>
              <th scope="col">Line</th>
              <th scope="col">Column</th>
              <th scope="col">Value</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {rejected.slice(0, mostShown).map(({ line, column, value, error }) => (
              <tr key={line}>
                <td>{line.toLocaleString('en-US')}</td>
                <td>{column}</td>
                <td>{value}</td>
                <td>{error}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {count > mostShown && <p class="muted">And {plural(count - mostShown, 'more row')}.</p>}
    </>
  )
}

const mostShown = 10
