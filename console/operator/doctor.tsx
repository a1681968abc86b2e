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
          {checks.isLoading ? 'Checking…' : 'Check again'}
        </button>
      </div>
      <p class="muted">
        Checks the installation and changes nothing, like <code>cartage doctor</code>.
      </p>
      <Load from={checks}>{(found) => <CheckTable checks={found} />}</Load>
    </>
  )
}

const kinds = { fail: 'error', warn: 'warning', ok: 'good' } as const
const order = Object.keys(kinds)

/** Failed checks first. */
export function CheckTable({ checks }: Readonly<{ checks: readonly CheckDocument[] }>) {
  const sorted = [...checks].sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
  return (
    <Table label="Checks" head={['Status', 'Check', 'Finding and advice']}>
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
