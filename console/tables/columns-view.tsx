import { readColumns, readRules, type TableId } from '../api/tables.ts'
import { formatBytes } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'

type Of = Readonly<{ table: TableId }>

export function ColumnsView({ table }: Of) {
  const columns = useLoaded((signal) => readColumns(table, signal), [table.schema, table.name])
  return (
    <Load from={columns}>
      {(found) => (
        <Table label="Columns" head={['Column', 'Type', 'Nullable', 'Default', 'Comment']}>
          {found.map(({ name, type, isNullable, fallback, comment }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{type}</td>
              <td>{isNullable ? 'yes' : 'no'}</td>
              <td>
                <code>{fallback}</code>
              </td>
              <td>{comment}</td>
            </tr>
          ))}
        </Table>
      )}
    </Load>
  )
}

/** Indexes and constraints. */
export function RulesView({ table }: Of) {
  const rules = useLoaded((signal) => readRules(table, signal), [table.schema, table.name])
  return (
    <Load from={rules}>
      {(found) =>
        found.length === 0 ? (
          <Empty>No indexes or constraints. Use “Write SQL” to create an index.</Empty>
        ) : (
          <Table label="Indexes and constraints" head={['Name', 'Kind', 'Definition', 'Size']}>
            {found.map(({ name, kind, definition, bytes }) => (
              <tr key={`${kind}\n${name}`}>
                <th scope="row">{name}</th>
                <td>{kind}</td>
                <td>
                  <code>{definition}</code>
                </td>
                <td class="number">{bytes !== null && formatBytes(bytes)}</td>
              </tr>
            ))}
          </Table>
        )
      }
    </Load>
  )
}
