import type { ComponentChildren } from 'preact'
import { readColumns, readRules, type TableId } from '../api/tables.ts'
import { formatBytes } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { ScrollBox } from '../parts/scroll-box.tsx'

type Of = Readonly<{ table: TableId }>

export function ColumnsView({ table }: Of) {
  const columns = useLoaded((signal) => readColumns(table, signal), [table.schema, table.name])
  return (
    <Load from={columns}>
      {(found) => (
        <ScrollBox label="Columns">
          <Rows head={['Column', 'Type', 'Null', 'Default', 'Comment']}>
            {found.map(({ name, type, isNullable, fallback, comment }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{type}</td>
                <td>{isNullable ? 'nullable' : 'not null'}</td>
                <td>
                  <code>{fallback}</code>
                </td>
                <td>{comment}</td>
              </tr>
            ))}
          </Rows>
        </ScrollBox>
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
          <ScrollBox label="Indexes and constraints">
            <Rows head={['Name', 'Kind', 'Definition', 'Size']}>
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
            </Rows>
          </ScrollBox>
        )
      }
    </Load>
  )
}

function Rows({ head, children }: Readonly<{ head: readonly string[]; children: ComponentChildren }>) {
  return (
    <table class="list">
      <thead>
        <tr>
          {head.map((title) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
