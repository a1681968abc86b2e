import type { CsvDialect } from '../../src/file-import/csv-head.ts'
import type { PlannedColumn } from '../../src/file-import/plan-import.ts'
import { columnTypes } from '../../src/file-import/values/decide-types.ts'
import { plural, shorten } from '../parts/format.ts'
import type { ChosenFile } from './chosen-file.ts'
import type { FileHead } from './file-protocol.ts'
import type { Planned, WantedImport } from './wanted-import.ts'

type ColumnTableProps = Readonly<{
  chosen: ChosenFile
  head: FileHead
  planned: Planned
  wanted: WantedImport
  want: (next: WantedImport) => void
}>

const mostColumns = 200
const mostExamples = 20

/** The columns with their types and why, and the first rows. */
export function ColumnTable({ chosen, head, planned, wanted, want }: ColumnTableProps) {
  const shown = planned.columns.slice(0, mostColumns)
  const examples = head.rows.slice(head.dialect.hasHeader ? 1 : 0).slice(0, mostExamples)
  return (
    <>
      <div class="panel flush column-table">
        <table class="list">
          <thead>
            <tr>
              {shown.map((column, at) => (
                <ColumnHead
                  key={at}
                  chosen={chosen}
                  dialect={head.dialect}
                  column={column}
                  at={at}
                  wanted={wanted}
                  want={want}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {examples.map((row, at) => (
              <tr key={at}>
                {shown.map((_, column) => (
                  <td key={column}>
                    {row[column] === null ? <span class="muted">NULL</span> : shorten(row[column] ?? '', 60)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {planned.columns.length > mostColumns && (
        <p class="muted">
          {plural(planned.columns.length - mostColumns, 'more column')} not shown here, but uploaded.
        </p>
      )}
    </>
  )
}

type HeadProps = Pick<ColumnTableProps, 'chosen' | 'wanted' | 'want'> &
  Readonly<{ dialect: CsvDialect; column: PlannedColumn; at: number }>

function ColumnHead({ chosen, dialect, column, at, wanted, want }: HeadProps) {
  const { name, type, reason, inferred } = column
  const nulls = inferred?.spoilt?.nulls ?? []
  return (
    <th scope="col">
      <div class="stack tight">
        <input
          aria-label={`Name of column ${at + 1}`}
          spellcheck={false}
          value={name}
          onInput={(event) =>
            want({ ...wanted, names: { ...wanted.names, [at]: event.currentTarget.value } })
          }
        />
        {wanted.target ? (
          <span>{type}</span>
        ) : (
          <select
            aria-label={`Type of ${name}`}
            value={type}
            onChange={(event) =>
              want({ ...wanted, types: { ...wanted.types, [at]: event.currentTarget.value } })
            }
          >
            {columnTypes.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
        <span class="reason">{reason}</span>
        {nulls.length > 0 && (
          <button
            type="button"
            onClick={() => chosen.read({ ...dialect, nulls: [...(dialect.nulls ?? []), ...nulls] })}
          >
            Read {nulls.map((mark) => `“${mark}”`).join(', ')} as NULL
          </button>
        )}
      </div>
    </th>
  )
}
