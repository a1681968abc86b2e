import type { OnConflict } from '../../src/contract/formats.ts'
import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import { type Encoding, encodings } from '../../src/file-import/encodings.ts'
import { isNumber, type Points } from '../../src/file-import/import-plan.ts'
import type { FileReading } from '../../src/file-import/read-types.ts'
import { catalog } from '../api/catalog.ts'
import { shownName } from '../api/sql.ts'
import { Field } from '../parts/controls/field.tsx'
import { SelectField } from '../parts/controls/select-field.tsx'
import { Notice } from '../parts/notice.tsx'
import type { ChosenFile } from './chosen-file.ts'
import type { FileHead } from './file-protocol.ts'
import { TextField } from './text-field.tsx'
import type { Planned, WantedImport } from './wanted-import.ts'

type FormProps = Readonly<{
  chosen: ChosenFile
  head: FileHead
  reading: FileReading
  planned: Planned
  wanted: WantedImport
  want: (next: WantedImport) => void
}>

/** The target table and the format of the file. */
export function FileForm({ chosen, head, reading, planned, wanted, want }: FormProps) {
  return (
    <section class="panel stack" aria-label="Target and format">
      <div class="form-row">
        <Target wanted={wanted} want={want} />
        {!wanted.target && (
          <Field label="Table name">
            {(props) => (
              <input
                {...props}
                spellcheck={false}
                autocapitalize="none"
                value={wanted.table}
                onInput={(event) => want({ ...wanted, table: event.currentTarget.value })}
              />
            )}
          </Field>
        )}
        {wanted.target && <MergeForm wanted={wanted} want={want} />}
      </div>
      {!head.isGeojson && <DialectForm dialect={head.dialect} change={(dialect) => chosen.read(dialect)} />}
      {head.dialect.encoding !== 'UTF8' && reading.isEncodingRight && (
        <Notice kind="warning">
          This file is not UTF-8. If letters below look wrong, choose another encoding.
        </Notice>
      )}
      <FormsForm planned={planned} wanted={wanted} want={want} />
      <PointsForm planned={planned} wanted={wanted} want={want} />
      {!wanted.target && (
        <label class="check">
          <input
            type="checkbox"
            checked={wanted.isPrepared}
            onChange={() => want({ ...wanted, isPrepared: !wanted.isPrepared })}
          />
          Prepare for maps: adds the column cartodb_id, both geometry columns and their indexes
        </label>
      )}
    </section>
  )
}

type WantProps = Pick<FormProps, 'wanted' | 'want'>

/** The handling of rows whose key is in the target. */
function MergeForm({ wanted, want }: WantProps) {
  const { onConflict, key = '' } = wanted
  return (
    <>
      <SelectField<OnConflict | ''>
        label="If the key exists"
        value={onConflict ?? ''}
        choose={(chosen) => want({ ...wanted, onConflict: chosen || undefined })}
        options={[
          ['', 'Add all rows'],
          ['update', 'Update rows with the same key'],
          ['nothing', 'Keep rows with the same key as they are'],
        ]}
      />
      {onConflict && (
        <TextField
          label="Key columns"
          example="id"
          value={key}
          change={(text) => want({ ...wanted, key: text })}
          isRequired
        />
      )}
    </>
  )
}

function Target({ wanted, want }: WantProps) {
  const tables = catalog.value.tables.filter(({ kind }) => kind === 'table')
  const [first] = catalog.value.searchPath
  const nameOf = (table: (typeof tables)[number]) =>
    table.schema === first ? table.name : `${shownName(table.schema)}.${table.name}`
  return (
    <Field label="Load into">
      {(props) => (
        <select
          {...props}
          value={wanted.target ? String(tables.indexOf(wanted.target)) : ''}
          onChange={(event) =>
            want({ ...wanted, target: tables[Number(event.currentTarget.value || -1)], points: undefined })
          }
        >
          <option value="">New table</option>
          {tables.map((table, at) => (
            <option key={at} value={at}>
              Append to {nameOf(table)}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

const delimiters = { ',': 'Comma', ';': 'Semicolon', '\t': 'Tab', '|': 'Pipe |' } as const

function DialectForm({
  dialect,
  change,
}: Readonly<{ dialect: CsvDialect; change: (next: CsvDialect) => void }>) {
  const written = { ...dialect, isCopyText: undefined }
  return (
    <div class="form-row">
      <Pick
        label="Delimiter"
        value={dialect.delimiter}
        options={delimiters}
        pick={(delimiter) => change({ ...written, delimiter: delimiter as CsvDialect['delimiter'] })}
      />
      <Pick
        label="Quotes"
        value={dialect.quote}
        options={{ '"': 'Double "', '': 'None' }}
        pick={(quote) => change({ ...written, quote: quote as CsvDialect['quote'] })}
      />
      <Pick
        label="Encoding"
        value={dialect.encoding}
        options={encodings}
        pick={(encoding) => change({ ...dialect, encoding: encoding as Encoding })}
      />
      <Field label="Read as NULL">
        {(props) => (
          <input
            {...props}
            spellcheck={false}
            autocapitalize="none"
            placeholder="n/a, -"
            value={(dialect.nulls ?? []).join(', ')}
            onChange={(event) => change({ ...dialect, nulls: listIn(event.currentTarget.value) })}
          />
        )}
      </Field>
      <label class="check">
        <input
          type="checkbox"
          checked={dialect.hasHeader}
          onChange={() => change({ ...dialect, hasHeader: !dialect.hasHeader })}
        />
        First line has column names
      </label>
    </div>
  )
}

const listIn = (text: string) =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)

type PickProps = Readonly<{
  label: string
  value: string
  options: Readonly<Record<string, string>>
  pick: (value: string) => void
}>

function Pick({ label, value, options, pick }: PickProps) {
  return (
    <Field label={label}>
      {(props) => (
        <select {...props} value={value} onChange={(event) => pick(event.currentTarget.value)}>
          {Object.entries(options).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** Dates and numbers that can be read in two ways. */
function FormsForm({ planned, wanted, want }: WantProps & Pick<FormProps, 'planned'>) {
  const readings = planned.columns.flatMap(({ inferred }) => Object.keys(inferred?.either ?? {}))
  const hasDates = readings.includes('dmy') || readings.includes('mdy')
  const hasNumbers = readings.includes('comma') || readings.includes('point')
  if (!hasDates && !hasNumbers) return null
  return (
    <div class="form-row">
      {hasDates && (
        <Pick
          label="Dates"
          value={wanted.dates ?? ''}
          options={{ '': 'Detect, else text', dmy: 'Day first', mdy: 'Month first' }}
          pick={(dates) => want({ ...wanted, dates: (dates || undefined) as WantedImport['dates'] })}
        />
      )}
      {hasNumbers && (
        <Pick
          label="Numbers"
          value={wanted.decimals ?? ''}
          options={{ '': 'Detect, else text', comma: 'Decimal comma', point: 'Decimal point' }}
          pick={(decimals) =>
            want({ ...wanted, decimals: (decimals || undefined) as WantedImport['decimals'] })
          }
        />
      )}
    </div>
  )
}

function PointsForm({ planned, wanted, want }: WantProps & Pick<FormProps, 'planned'>) {
  const { possiblePoints: points, columns, plan } = planned
  if (!points) return null
  const numbers = Object.fromEntries(
    columns.filter(({ type }) => isNumber(type)).map(({ name }) => [name, name]),
  )
  const choose = (change: Partial<Points>) => want({ ...wanted, points: { ...points, ...change } })
  return (
    <div class="form-row">
      <label class="check">
        <input
          type="checkbox"
          checked={plan.points !== undefined}
          onChange={() => want({ ...wanted, points: plan.points ? null : points })}
        />
        Create points from longitude and latitude{plan.merge && ', also of updated rows'}
      </label>
      {plan.points && (
        <>
          <Pick label="Longitude" value={points.lon} options={numbers} pick={(lon) => choose({ lon })} />
          <Pick label="Latitude" value={points.lat} options={numbers} pick={(lat) => choose({ lat })} />
        </>
      )}
    </div>
  )
}
