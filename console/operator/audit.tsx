import { useState } from 'preact/hooks'
import { auditActions } from '../../src/contract/admin-names.ts'
import type { AuditDocument, AuditFilter } from '../../src/contract/documents.ts'
import { listAudit } from '../api/operator.ts'
import { Choice } from '../parts/controls/choice.tsx'
import { formatTime } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { useWork } from '../parts/work.ts'

const perPage = 50
const actions = auditActions.map((name, at) => ({ at, name }))

export function AuditPage() {
  const [text, setText] = useState('')
  const [account, setAccount] = useState('')
  const [at, setAt] = useState<number | null>(null)
  const [since, setSince] = useState('')
  const filter: AuditFilter = {
    account: account || undefined,
    action: at === null ? undefined : auditActions[at],
    // A day here, from its midnight.
    ...(since && { since: new Date(`${since}T00:00`).toISOString() }),
    limit: perPage,
  }
  const newest = useLoaded((signal) => listAudit(filter, signal), [account, at, since])
  const search = (event: Event) => {
    event.preventDefault()
    setAccount(text.trim())
  }
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Audit</h1>
        <Choice label="Action" none="all" options={actions} value={at} choose={setAt} />
        <label class="row">
          Since
          <input type="date" value={since} onInput={(event) => setSince(event.currentTarget.value)} />
        </label>
        <form class="row" onSubmit={search}>
          <input
            type="search"
            aria-label="User or organization"
            placeholder="User or organization"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit">Show</button>
        </form>
      </div>
      <p class="muted">Who changed which account, key or host, and which credentials were refused.</p>
      <Load from={newest}>
        {(found) => (
          <Records
            key={`${at} ${account} ${since}`}
            newest={found}
            filter={filter}
            isOld={newest.isLoading}
          />
        )}
      </Load>
    </>
  )
}

type RecordsProps = Readonly<{
  newest: readonly AuditDocument[]
  filter: AuditFilter
  /** A new list is loading. */
  isOld: boolean
}>

/** The newest records, followed by older ones once requested. */
function Records({ newest, filter, isOld }: RecordsProps) {
  const [older, setOlder] = useState<readonly AuditDocument[]>([])
  const [isEnd, setEnd] = useState(false)
  const { isBusy, error, begin } = useWork()
  const records = [...newest, ...older]
  const last = records.at(-1)
  if (!last) return <Empty>No records found.</Empty>
  const more = () =>
    begin(async () => {
      const found = await listAudit({ ...filter, before: last.id })
      setOlder([...older, ...found])
      setEnd(found.length < perPage)
    })
  return (
    <>
      <Table label="Records" head={['Time', 'Who', 'Action', 'Account', 'Object', 'Details']}>
        {records.map((record) => (
          <RecordLine key={record.id} of={record} />
        ))}
      </Table>
      {error !== undefined && <ErrorNotice error={error} />}
      {isEnd || newest.length < perPage ? (
        <p class="muted">No older records.</p>
      ) : (
        <div>
          <button type="button" disabled={isBusy || isOld} onClick={more}>
            Older
          </button>
        </div>
      )}
    </>
  )
}

function RecordLine({
  of: { at, actor, action, account, subject, details },
}: Readonly<{ of: AuditDocument }>) {
  return (
    <tr>
      <td class="time">{formatTime(at)}</td>
      <td>{actor}</td>
      <td>{action}</td>
      <td>{account}</td>
      <td>{subject}</td>
      <td class="mono small text">{Object.keys(details).length > 0 && JSON.stringify(details)}</td>
    </tr>
  )
}
