import { readRows } from '../../api/sql.ts'
import type { TableId } from '../../api/tables.ts'
import { Load, type Loaded, useLoaded } from '../../parts/loading.tsx'
import { Notice } from '../../parts/notice.tsx'
import { CheckLine } from './change-dialog.tsx'
import { type Dependent, dependentsSql, mostDependents } from './structure-sql.ts'

export const useDependents = (table: TableId, column?: string) =>
  useLoaded((signal) => readRows<Dependent>(dependentsSql(table, column), { signal }), [])

type DependentsProps = Readonly<{
  from: Loaded<readonly Dependent[]>
  /** What is dropped. */
  what: string
  isCascading: boolean
  cascade: (isCascading: boolean) => void
}>

/** What is lost too, and the box for CASCADE if it is needed. */
export function Dependents({ from, what, isCascading, cascade }: DependentsProps) {
  return (
    <Load from={from} lines={2}>
      {(found) =>
        found.length === 0 ? (
          <p>Nothing depends on {what}.</p>
        ) : (
          <>
            <Notice kind="warning">
              <strong>These depend on {what}:</strong>
              <ul class="dependents">
                {found.map((each) => (
                  <li key={each.what}>
                    {each.what}
                    {!each.isHolding && <span class="muted"> (dropped with it)</span>}
                  </li>
                ))}
              </ul>
              {found.length === mostDependents && <p>There may be more.</p>}
            </Notice>
            {found.some(({ isHolding }) => isHolding) && (
              <CheckLine label="Drop all of them too (CASCADE)" isOn={isCascading} turn={cascade} />
            )}
          </>
        )
      }
    </Load>
  )
}
