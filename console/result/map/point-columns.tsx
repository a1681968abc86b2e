import { useState } from 'preact/hooks'
import { Choice, type ChoiceOption } from '../../parts/controls/choice.tsx'
import type { PointColumns, ResultLook } from '../result-look.ts'
import type { ResultColumn } from '../worker/protocol.ts'

type ChooserProps = Readonly<{ columns: readonly ResultColumn[]; look: ResultLook }>

/** Chooses two number columns as longitude and latitude. Columns with such names are offered first. */
export function PointColumnsChooser({ columns, look }: ChooserProps) {
  const options = numbersOf(columns)
  const [wanted, want] = useState<Wanted>(look.points.peek() ?? offeredColumns(columns) ?? nothing)
  const change = (next: Wanted) => {
    want(next)
    if (look.points.value && isWhole(next)) look.points.value = next
  }
  const draw = () => {
    if (isWhole(wanted)) look.points.value = wanted
  }
  return (
    <>
      <Choice
        label="Longitude"
        value={wanted.x}
        options={options}
        choose={(x) => change({ ...wanted, x })}
        none="choose"
      />
      <Choice
        label="Latitude"
        value={wanted.y}
        options={options}
        choose={(y) => change({ ...wanted, y })}
        none="choose"
      />
      {!look.points.value && (
        <button type="button" class="primary" disabled={!isWhole(wanted)} onClick={draw}>
          Draw points
        </button>
      )}
    </>
  )
}

type Wanted = Readonly<{ x: number | null; y: number | null }>

const nothing: Wanted = { x: null, y: null }

const isWhole = (wanted: Wanted): wanted is PointColumns =>
  wanted.x !== null && wanted.y !== null && wanted.x !== wanted.y

export const numbersOf = (columns: readonly ResultColumn[]): ChoiceOption[] =>
  columns.flatMap(({ name, type }, at) => (type === 'number' ? [{ at, name }] : []))

/** Two number columns named longitude and latitude, also after a prefix: `from_lon`, `from_lat`. */
export function offeredColumns(columns: readonly ResultColumn[]): PointColumns | undefined {
  const numbers = numbersOf(columns).map(({ at, name }) => ({ at, name: name.toLowerCase() }))
  for (const [ofX, ofY] of names) {
    for (const { at: x, name } of numbers) {
      const prefix = ofX.exec(name)?.[1]
      if (prefix === undefined) continue
      const y = numbers.find((other) => other.at !== x && ofY.exec(other.name)?.[1] === prefix)
      if (y) return { x, y: y.at }
    }
  }
  return undefined
}

/** Pairs of names; both must have the same prefix. */
const names = [
  [/^(|.*_)(?:longitude|lon|lng|long)$/, /^(|.*_)(?:latitude|lat)$/],
  [/^(|.*_)x$/, /^(|.*_)y$/],
] as const
