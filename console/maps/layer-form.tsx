import { useEffect } from 'preact/hooks'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { useLoaded } from '../parts/loading.tsx'
import { ErrorNotice } from '../parts/notice.tsx'
import { ColourForm } from './colour-form.tsx'
import type { DraftLayer } from './draft-layer.ts'
import { describeSql, type LayerColumn } from './layer-data.ts'
import { deepest } from './layer-style.ts'

type LayerFormProps = Readonly<{
  layer: DraftLayer
  change: (next: (former: DraftLayer) => DraftLayer) => void
  remove: () => void
  /** Undefined for the first one. */
  up?: () => void
  down?: () => void
}>

/** How a layer is drawn. */
export function LayerForm({ layer, change, remove, up, down }: LayerFormProps) {
  const data = useLoaded((signal) => describeSql(layer.sql, signal), [layer.sql])
  const columns = data.value?.columns ?? []
  const set = (part: Partial<DraftLayer>) => change((former) => ({ ...former, ...part }))
  return (
    <details class="panel map-layer" open>
      <summary>{layer.title}</summary>
      <div class="stack">
        <div class="row">
          <button type="button" disabled={!up} onClick={up} aria-label={`Move ${layer.title} up`}>
            ↑
          </button>
          <button type="button" disabled={!down} onClick={down} aria-label={`Move ${layer.title} down`}>
            ↓
          </button>
          <span class="grow" />
          <button type="button" class="quiet danger" onClick={remove} aria-label={`Remove ${layer.title}`}>
            Remove
          </button>
        </div>
        {data.error !== undefined && <ErrorNotice error={data.error} />}
        <Field label="Name in the legend">
          {(props) => (
            <input
              {...props}
              maxLength={100}
              value={layer.title}
              onInput={({ currentTarget }) => set({ title: currentTarget.value })}
            />
          )}
        </Field>
        <ColourForm layer={layer} columns={columns} set={(colour) => set({ colour })} />
        <Sizes layer={layer} set={set} />
        <SelectField
          label="Label"
          value={layer.label}
          choose={(label) => set({ label })}
          options={[['', 'None'], ...columns.map(({ name }) => name)]}
        />
        <PopupColumns layer={layer} columns={columns} set={set} />
      </div>
    </details>
  )
}

type PartProps = Readonly<{ layer: DraftLayer; set: (part: Partial<DraftLayer>) => void }>

function Sizes({ layer: { kind, size, opacity, minzoom, maxzoom }, set }: PartProps) {
  const sizeLabel = { point: 'Radius', line: 'Width', area: 'Width of edges' }[kind]
  return (
    <div class="map-layer-numbers">
      <NumberField
        label={sizeLabel}
        value={size}
        most={50}
        step={0.5}
        change={(next) => set({ size: next })}
      />
      <NumberField
        label="Opacity"
        value={opacity}
        most={1}
        step={0.1}
        change={(next) => set({ opacity: next })}
      />
      <NumberField
        label="From zoom"
        value={minzoom}
        most={deepest}
        step={1}
        change={(next) => set({ minzoom: next })}
      />
      <NumberField
        label="To zoom"
        value={maxzoom}
        most={deepest}
        step={1}
        change={(next) => set({ maxzoom: next })}
      />
    </div>
  )
}

type NumberFieldProps = Readonly<{
  label: string
  value: number
  most: number
  step: number
  change: (value: number) => void
}>

export function NumberField({ label, value, most, step, change }: NumberFieldProps) {
  return (
    <Field label={label}>
      {(props) => (
        <input
          {...props}
          type="number"
          min={0}
          max={most}
          step={step}
          value={value}
          onInput={({ currentTarget: { valueAsNumber } }) => {
            if (Number.isFinite(valueAsNumber)) change(Math.min(most, Math.max(0, valueAsNumber)))
          }}
        />
      )}
    </Field>
  )
}

type ColumnsProps = PartProps & Readonly<{ columns: readonly LayerColumn[] }>

function PopupColumns({ layer: { popup }, columns, set }: ColumnsProps) {
  const toggle = (name: string, isOn: boolean) =>
    set({ popup: isOn ? [...popup, name] : popup.filter((each) => each !== name) })
  // A column that the query no longer has.
  useEffect(() => {
    const known = popup.filter((name) => columns.some((column) => column.name === name))
    if (columns.length > 0 && known.length < popup.length) set({ popup: known })
  }, [columns])
  return (
    <fieldset class="map-popup-columns">
      <legend>Shown on click</legend>
      {columns.map(({ name }) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={popup.includes(name)}
            onChange={({ currentTarget }) => toggle(name, currentTarget.checked)}
          />{' '}
          {name}
        </label>
      ))}
    </fieldset>
  )
}
