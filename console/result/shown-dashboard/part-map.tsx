import { useMemo } from 'preact/hooks'
import { adoptStyles } from '../../parts/browser/styles.ts'
import { formatCount } from '../../parts/format.ts'
import { Empty } from '../../parts/notice.tsx'
import { LazyView } from '../lazy-view.tsx'
import { loadMap } from '../map/lazy-maps.tsx'
import resultCss from '../result.css' with { type: 'text' }
import type { Result } from '../result.ts'
import { ResultLook } from '../result-look.ts'
import { mostRows } from './read-part.ts'

adoptStyles(resultCss)

/** The shapes of a part on a map, drawn in the browser. */
export default function PartMap({ result }: Readonly<{ result: Result }>) {
  const look = useMemo(() => unselected(result), [result])
  const { columns, rows } = result.progress.value
  if (rows === 0) return <Empty>No rows.</Empty>
  if (!columns.some(({ type }) => type === 'geometry')) return <Empty>The query has no geometry.</Empty>
  return (
    <>
      {rows >= mostRows.map && (
        <p class="small muted part-note">
          The first {formatCount(rows)} rows: a map of a dashboard draws no more.
        </p>
      )}
      <LazyView load={loadMap} result={result} look={look} source={unusedSource} />
    </>
  )
}

/** Nothing is selected: there is no grid whose cell the map could mark. */
function unselected(result: Result): ResultLook {
  const look = new ResultLook(result)
  const nowhere = { row: -1, column: 0 }
  look.selection.value = { anchor: nowhere, focus: nowhere }
  return look
}

/** With parameters a map draws only the rows in the browser. */
const unusedSource = {
  text: '',
  params: [],
  credential: { kind: 'key', username: '', token: null },
} as const
