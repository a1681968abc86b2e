import type { CheckDocument } from '../../src/contract/documents.ts'
import { runDoctor } from '../api/operator.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Table } from '../parts/table.tsx'

export function DoctorPage() {
  const checks = useLoaded(runDoctor, [])
  return (
    <>
      <div class="page-head">
        <h1 class="grow">Doctor</h1>
        <button type="button" disabled={checks.isLoading} onClick={checks.reload}>
          {checks.isLoading ? 'Looking…' : 'Look again'}
        </button>
      </div>
      <p class="muted">
        Looks the installation over and changes nothing, as <code>cartage doctor</code> does.
      </p>
      <Load from={checks}>{(found) => <CheckTable checks={found} />}</Load>
    </>
  )
}

const kinds = { fail: 'error', warn: 'warning', ok: 'good' } as const
const order = Object.keys(kinds)

/** What fails comes first. */
export function CheckTable({ checks }: Readonly<{ checks: readonly CheckDocument[] }>) {
  const sorted = [...checks].sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
  return (
    <Table label="Checks" head={['Status', 'Check', 'What was seen, and what to do']}>
      {sorted.map(({ name, status, advice }) => (
        <tr key={name}>
          <td>
            <span class={`badge ${kinds[status]}`}>{status}</span>
          </td>
          <td>{name}</td>
          <td class="text">{advice}</td>
        </tr>
      ))}
    </Table>
  )
}
