import { useRef } from 'preact/hooks'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { breaksOf, type Method } from './breaks.ts'
import type { ColourBy, DraftLayer } from './draft-layer.ts'
import { type LayerColumn, readCategories, readNumbers } from './layer-data.ts'
import { categoryColours, type RampName, rampNames } from './ramps.ts'

type ColourFormProps = Readonly<{
  layer: DraftLayer
  columns: readonly LayerColumn[]
  set: (colour: ColourBy) => void
}>

/** One colour, or colours by the values of a column. */
export function ColourForm({ layer, columns, set }: ColourFormProps) {
  const { isBusy, error, read, forget } = useNewest(set)
  const { colour } = layer
  /** The last choice, while its values are read. */
  const chosen = useRef<Numbers | undefined>(undefined)
  const byNumbers = (part: Partial<Numbers>, column: string) => {
    const former = isBusy ? chosen.current : undefined
    const wanted = { ...usual, ...(former ?? (colour.by === 'numbers' && colour)), ...part, column }
    chosen.current = wanted
    read(async (signal) => {
      const values = await readNumbers(layer, column, signal)
      return { ...wanted, breaks: breaksOf(values, wanted.method, wanted.count) }
    })
  }
  const byCategories = (column: string) => {
    chosen.current = undefined
    read(async (signal) => {
      const values = await readCategories(layer, column, categoryColours.length, signal)
      return { by: 'categories', column, values }
    })
  }
  const choose = (by: string) => {
    const [kind, column = ''] = [by.slice(0, by.indexOf(':')), by.slice(by.indexOf(':') + 1)]
    if (kind === 'numbers') return byNumbers({}, column)
    if (kind === 'categories') return byCategories(column)
    forget()
    set({ by: 'one', colour: categoryColours[0]! })
  }
  return (
    <>
      <SelectField
        label="Colour"
        value={colour.by === 'one' ? 'one:' : `${colour.by}:${colour.column}`}
        choose={choose}
        options={[['one:', 'One colour'], ...optionsOf(columns)]}
      />
      {colour.by === 'one' && (
        <Field label="One colour">
          {(props) => (
            <input
              {...props}
              type="color"
              value={colour.colour}
              onInput={({ currentTarget }) => set({ by: 'one', colour: currentTarget.value })}
            />
          )}
        </Field>
      )}
      {colour.by === 'numbers' && (
        <ClassFields colour={colour} change={(part) => byNumbers(part, colour.column)} />
      )}
      {isBusy && <p class="small muted">Reading values…</p>}
      {error !== undefined && <ErrorNotice error={error} />}
    </>
  )
}

type ReadColour = (signal: AbortSignal) => Promise<ColourBy>

/** Reads one colour at a time and sets the newest. A choice made meanwhile is not lost. */
function useNewest(set: (colour: ColourBy) => void) {
  const { isBusy, error, begin } = useWork()
  const newest = useRef<ReadColour | undefined>(undefined)
  const read = (wanted: ReadColour) => {
    newest.current = wanted
    void begin(async () => {
      while (newest.current) {
        const now = newest.current
        const colour = await now(new AbortController().signal)
        if (newest.current !== now) continue
        newest.current = undefined
        set(colour)
      }
    })
  }
  const forget = () => {
    newest.current = undefined
  }
  return { isBusy, error, read, forget }
}

type Numbers = ColourBy & { by: 'numbers' }

const usual: Numbers = {
  by: 'numbers',
  column: '',
  method: 'quantiles',
  count: 5,
  ramp: 'Viridis',
  breaks: [],
}

const optionsOf = (columns: readonly LayerColumn[]) => [
  ...columns
    .filter(({ isNumber }) => isNumber)
    .map(({ name }) => [`numbers:${name}`, `By ${name} (numbers)`] as const),
  ...columns.map(({ name }) => [`categories:${name}`, `By ${name} (categories)`] as const),
]

type ClassFieldsProps = Readonly<{ colour: Numbers; change: (part: Partial<Numbers>) => void }>

function ClassFields({ colour, change }: ClassFieldsProps) {
  return (
    <div class="map-layer-numbers">
      <SelectField<Method>
        label="Classes"
        value={colour.method}
        choose={(method) => change({ method })}
        options={[
          ['quantiles', 'Quantiles'],
          ['equal', 'Equal steps'],
          ['natural', 'Natural breaks'],
        ]}
      />
      <SelectField
        label="Number of classes"
        value={String(colour.count)}
        choose={(count) => change({ count: Number(count) })}
        options={['3', '4', '5', '6', '7']}
      />
      <SelectField<RampName>
        label="Colours"
        value={colour.ramp}
        choose={(ramp) => change({ ramp })}
        options={rampNames}
      />
    </div>
  )
}
