import { useState } from 'preact/hooks'
import type { FullKeyDocument, HistoryList } from '../../../src/contract/documents.ts'
import { maxHistoryPage } from '../../../src/contract/limits.ts'
import { listHistory } from '../../api/history/history.ts'
import { packStatement } from '../../api/share.ts'
import { navigate } from '../../parts/browser/route.ts'
import { formatAge, formatDuration, formatTime, plural, shorten } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Table } from '../../parts/table.tsx'
import { keysOf } from '../member.ts'

const atOnce = 20

/** What people ran with a key in the console, newest first. */
export function PastStatements({ of: { name } }: Readonly<{ of: FullKeyDocument }>) {
  const [limit, setLimit] = useState(atOnce)
  const history = useLoaded(
    (signal) => listHistory({ key: name, target_user: keysOf().member, limit }, signal),
    [name, limit],
  )
  return (
    <section class="panel stack" aria-labelledby="past-statements">
      <h2 id="past-statements">Past statements</h2>
      <Load from={history} lines={3}>
        {(list) => (
          <>
            <Statements {...list} />
            {list.next !== null && limit < most && (
              <button
                type="button"
                disabled={history.isLoading}
                onClick={() => setLimit(Math.min(most, limit * 3))}
              >
                Show more
              </button>
            )}
          </>
        )}
      </Load>
    </section>
  )
}

/** As many as fit one answer. */
const most = maxHistoryPage

function Statements({ kept_days, statements }: HistoryList) {
  if (kept_days === 0)
    return <p class="muted">The operator of this service keeps no history of statements.</p>
  if (statements.length === 0)
    return (
      <p class="muted">
        Nothing was run with this key in the console in the last {plural(kept_days, 'day')}.
      </p>
    )
  return (
    <Table label="What was run" head={['Run', 'SQL', 'Outcome', 'Took', 'In the editor']}>
      {statements.map(({ id, at, text, text_is_cut, outcome, rows, code, ms }) => (
        <tr key={id}>
          <td class="key-time" title={formatTime(at)}>
            {formatAge(at)}
          </td>
          <td class="mono small key-sql">{shorten(text, 300)}</td>
          <td>{outcome === 'done' ? plural(rows ?? 0, 'row') : [outcome, code].filter(Boolean).join(' ')}</td>
          <td class="key-time">{formatDuration(ms)}</td>
          <td>
            <button type="button" class="quiet" onClick={() => void open(text)}>
              {text_is_cut ? 'Open beginning' : 'Open'}
            </button>
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** Opens the text in a new draft, without running it. */
const open = async (text: string) => navigate(`/sql#s=${await packStatement(text)}`)
