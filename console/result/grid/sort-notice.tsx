import type { SortOrder } from '../../../src/contract/formats.ts'
import { formatCount } from '../../parts/format.ts'
import { Notice } from '../../parts/notice.tsx'
import type { ResultViewProps } from '../view-props.ts'

/** Offers to sort on the server what the browser cannot: too many rows, or not all of them. */
export function SortNotice({ result, look, sortOnServer }: ResultViewProps) {
  const column = result.progress.value.columns[look.wantedOrder.value ?? -1]
  if (!column || !sortOnServer) return null
  const sort = (sort_order: SortOrder) => () => {
    look.wantedOrder.value = undefined
    sortOnServer({ order_by: column.name, sort_order })
  }
  return (
    <Notice
      acts={
        <>
          <button type="button" onClick={sort('asc')}>
            Ascending
          </button>
          <button type="button" onClick={sort('desc')}>
            Descending
          </button>
        </>
      }
    >
      {result.state.value === 'done'
        ? `${formatCount(result.progress.value.rows)} rows are too many to sort in the browser.`
        : 'Not all rows have arrived.'}{' '}
      Sort by {column.name} on the server? The statement runs again.
    </Notice>
  )
}
