import { adoptStyles } from '../parts/browser/styles.ts'
import { OneTable } from './one-table.tsx'
import { TableList } from './table-list.tsx'
import css from './tables.css' with { type: 'text' }

adoptStyles(css)

export default function TablesPage({ segments }: Readonly<{ segments: readonly string[] }>) {
  const [schema, name, view] = segments
  if (schema !== undefined && name !== undefined) {
    return <OneTable key={JSON.stringify([schema, name])} id={{ schema, name }} view={view} />
  }
  return (
    <div class="page">
      <div class="inside">
        <TableList />
      </div>
    </div>
  )
}
