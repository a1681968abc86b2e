import { useEffect, useRef } from 'preact/hooks'
import { longestValue } from '../../geo/rows-sql.ts'
import { plural } from '../../parts/format.ts'
import { tell } from '../../parts/live.tsx'
import { Load, useLoaded } from '../../parts/loading.tsx'

/** The columns of the rows at a place, and for each row its values in that order. */
export type RowsAtPlace = Readonly<{
  columns: readonly string[]
  rows: readonly (readonly (string | null)[])[]
}>

/** A place on a map that the user clicked. */
export type AskedPlace<At> = Readonly<{ at: At; isByKeyboard: boolean }>

/** Reads one more than is shown, to know whether there are more. */
export const mostRowsRead = 11
const mostRows = mostRowsRead - 1

type HereProps = Readonly<{
  read: (signal: AbortSignal) => Promise<RowsAtPlace>
  /** Read again when this changes. */
  by: AskedPlace<unknown>
  close: () => void
}>

/** The rows at the chosen place of a map, with their values. */
export function RowsHere({ read, by, close }: HereProps) {
  const found = useLoaded(read, [by])
  const values = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (by.isByKeyboard) values.current?.focus()
  }, [by])
  useEffect(() => {
    if (found.value) tell(`${plural(Math.min(found.value.rows.length, mostRows), 'row')} at this place`)
  }, [found.value])
  return (
    <aside
      class="cell-panel"
      aria-label="Rows at this place"
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      <div class="row">
        <strong class="grow">Rows at this place</strong>
        <button type="button" class="quiet square" aria-label="Close the rows" onClick={close}>
          ✕
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable with the keyboard */}
      <div class="cell-value" ref={values} tabIndex={0} role="group" aria-label="Values">
        <Load from={found}>{(shown) => <Values {...shown} />}</Load>
      </div>
    </aside>
  )
}

function Values({ columns, rows }: RowsAtPlace) {
  return (
    <>
      {rows.length === 0 && <p class="muted">No rows here.</p>}
      {rows.slice(0, mostRows).map((values, row) => (
        <dl key={row} class="row-here">
          {columns.map((name, at) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{shown(values[at] ?? null)}</dd>
            </div>
          ))}
        </dl>
      ))}
      {rows.length > mostRows && <p class="muted">More than {mostRows} rows here: zoom in.</p>}
    </>
  )
}

function shown(value: string | null) {
  if (value === null) return <em class="muted">NULL</em>
  return value.length > longestValue ? `${value.slice(0, longestValue)}…` : value
}
