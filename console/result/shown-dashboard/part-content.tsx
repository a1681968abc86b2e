import type { ComponentType } from 'preact'
import type { DashboardPart } from '../../../src/contract/dashboards.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import type { ChangeChart, DrawnPartProps } from './drawn-part.ts'
import { NumberValue } from './number-value.tsx'
import type { PartRows } from './read-part.ts'
import { RowsTable } from './rows-table.tsx'

type ContentProps = Readonly<{
  part: DashboardPart
  found: PartRows
  label: string
  changeChart?: ChangeChart | undefined
}>

export function PartContent({ part, found, label, changeChart }: ContentProps) {
  if (found.kind === 'result')
    return (
      <Lazy
        load={part.as === 'map' ? loadMap : loadChart}
        part={part}
        result={found.result}
        changeChart={changeChart}
      />
    )
  const { columns, rows } = found
  if (part.as === 'number') return <NumberValue columns={columns} rows={rows} column={part.column} />
  return <RowsTable label={label} columns={columns} rows={rows} />
}

type Loader = () => Promise<{ default: ComponentType<DrawnPartProps> }>

const loadMap: Loader = () => import('./part-map.tsx')
const loadChart: Loader = () => import('./part-chart.tsx')

/** The code of maps and charts is loaded on demand. */
function Lazy({ load, ...props }: DrawnPartProps & Readonly<{ load: Loader }>) {
  const loaded = useLoaded(load, [load])
  return <Load from={loaded}>{({ default: Drawn }) => <Drawn {...props} />}</Load>
}
