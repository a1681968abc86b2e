import { useEffect, useRef } from 'preact/hooks'
import type { TableColumn } from '../../api/tables.ts'
import { Field, type FieldProps } from '../../parts/controls/field.tsx'

/** Undefined: the default of the column. */
export type FieldValue = string | null | undefined

type ValueProps = Readonly<{
  column: TableColumn
  value: FieldValue
  change: (value: FieldValue) => void
  /** A new row may use the default. */
  hasDefault?: boolean
  /** Takes the focus. */
  isFirst?: boolean
}>

/** A field for a value of a column, with a box for NULL and, for a new row, one for the default. */
export function ValueField({ column, value, change, hasDefault = false, isFirst = false }: ValueProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isFirst) box.current?.querySelector<HTMLElement>('input, textarea, select')?.focus()
  }, [])
  const problem = typeof value === 'string' ? problemIn(column, value) : undefined
  return (
    <div class="value-field" ref={box}>
      <Field label={column.name} help={helpFor(column, hasDefault)} problem={problem}>
        {(props) => <Input {...props} column={column} value={value} change={change} />}
      </Field>
      <div class="row">
        {hasDefault && (column.fallback || column.isNullable) && (
          <Box
            label="Default"
            column={column}
            isOn={value === undefined}
            turn={(isOn) => change(isOn ? undefined : '')}
          />
        )}
        {column.isNullable && (
          <Box label="NULL" column={column} isOn={value === null} turn={(isOn) => change(isOn ? null : '')} />
        )}
      </div>
    </div>
  )
}

type BoxProps = Readonly<{ label: string; column: TableColumn; isOn: boolean; turn: (isOn: boolean) => void }>

function Box({ label, column, isOn, turn }: BoxProps) {
  return (
    <label class="check small">
      <input
        type="checkbox"
        aria-label={`${label}: ${column.name}`}
        checked={isOn}
        onChange={(event) => turn(event.currentTarget.checked)}
      />
      {label}
    </label>
  )
}

type InputProps = FieldProps & Pick<ValueProps, 'column' | 'value' | 'change'>

function Input({ column, value, change, ...props }: InputProps) {
  const text = value ?? ''
  const choices = choicesOf(column)
  const type = (event: { currentTarget: { value: string } }) => change(event.currentTarget.value)
  if (choices) {
    // A value that is not loaded yet must not look like the first choice.
    const offered = choices.includes(text) ? choices : [text, ...choices]
    return (
      <select {...props} value={text} onChange={type}>
        {offered.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  }
  if (isLong(column)) return <textarea {...props} rows={2} value={text} spellcheck={false} onInput={type} />
  const given = { ...props, autocomplete: 'off', value: text, onInput: type } as const
  // The browser's field has no dates BC and no infinity.
  if (column.type === 'date' && /^(\d{4}-\d\d-\d\d)?$/.test(text)) return <input {...given} type="date" />
  return <input {...given} type="text" {...(isNumber(column) && { inputMode: 'decimal' })} />
}

const choicesOf = ({ type, values }: TableColumn) =>
  values ?? (type === 'boolean' ? ['true', 'false'] : undefined)
const isLong = ({ type }: TableColumn) => /^(text|character|json|jsonb|xml|geometry|geography)\b/.test(type)
const isWhole = ({ type }: TableColumn) => /^(smallint|integer|bigint)$/.test(type)
const isNumber = (column: TableColumn) =>
  isWhole(column) || /^(numeric|real|double)\b[^[]*$/.test(column.type)

function helpFor({ type, fallback, isNullable }: TableColumn, hasDefault: boolean): string {
  const form = /^(geometry|geography)\b/.test(type)
    ? ', such as SRID=4326;POINT(8.5 47.4)'
    : /^timestamp\b/.test(type)
      ? ', such as 2026-01-31 10:00:00'
      : type.endsWith('[]')
        ? ', such as {1,2}'
        : ''
  const left = fallback ? `default ${fallback}` : isNullable ? 'default NULL' : 'required'
  return `${type}${form}${hasDefault ? ` · ${left}` : ''}`
}

/** Obvious errors. PostgreSQL checks the rest. */
export function problemIn(column: TableColumn, value: string): string | undefined {
  if (isWhole(column) && !/^\s*[+-]?\d+\s*$/.test(value)) return 'Not a whole number.'
  if (isNumber(column) && !/^\s*([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|[+-]?inf(inity)?)\s*$/i.test(value))
    return 'Not a number.'
  if ((choicesOf(column) || column.type === 'date') && value === '') return 'Choose a value.'
  if (/^jsonb?$/.test(column.type)) return problemInJson(value)
  return undefined
}

function problemInJson(value: string): string | undefined {
  try {
    JSON.parse(value)
    return undefined
  } catch (error) {
    return `Not JSON: ${(error as Error).message}`
  }
}
