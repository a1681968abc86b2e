import { formatCount } from '../parts/format.ts'
import type { Group, Groups } from './worker/protocol.ts'

type BarsProps = Readonly<{ groups: Groups; name: string; measure: string }>

/** One bar for each value of a column, from zero. */
export function CategoryBars({ groups: { groups, total }, name, measure }: BarsProps) {
  const values = groups.map(({ measured }) => measured ?? 0)
  const low = Math.min(0, ...values)
  const high = Math.max(0, ...values)
  const percent = (value: number) => (100 * value) / (high - low || 1)
  const left = total - groups.length
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard
    <div class="category-bars" tabIndex={0} role="group" aria-label={`Chart of ${measure} by ${name}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{name}</th>
            <th scope="col" class="number">
              {measure}
            </th>
            <td />
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.value}>
              <th scope="row" title={group.label ?? 'NULL'}>
                <Label of={group} />
              </th>
              <td class="number">{group.measured === null ? '–' : written(group.measured)}</td>
              <td class="bar-place" aria-hidden="true">
                <div
                  class="category-bar"
                  style={{
                    marginLeft: `${percent(Math.min(0, group.measured ?? 0) - low)}%`,
                    width: `${percent(Math.abs(group.measured ?? 0))}%`,
                  }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {left > 0 && (
        <p class="small muted">
          {formatCount(left)} more values of {name} are not shown.
        </p>
      )}
    </div>
  )
}

function Label({ of: { label } }: Readonly<{ of: Group }>) {
  if (label === null) return <em class="muted">NULL</em>
  return label === '' ? <em class="muted">empty string</em> : <span>{label}</span>
}

const written = (value: number) => value.toLocaleString('en-US', { maximumSignificantDigits: 12 })
