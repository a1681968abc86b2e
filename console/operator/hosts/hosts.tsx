import { useState } from 'preact/hooks'
import type { HostDocument } from '../../../src/contract/documents.ts'
import type { HostVerdict } from '../../../src/contract/health-names.ts'
import { changeHost, drainHost, listHosts, readReadiness } from '../../api/operator.ts'
import { ConfirmedAct } from '../../parts/controls/confirmed-act.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { Moves } from './moves.tsx'
import { AddReplica, Replicas } from './replicas.tsx'

export function HostsPage() {
  const hosts = useLoaded(listHosts, [])
  const [error, setError] = useState<unknown>(undefined)
  const [round, setRound] = useState(0)
  return (
    <>
      <h1>Hosts</h1>
      <p class="muted">
        The PostgreSQL clusters that hold the databases of users. Add another on the server:{' '}
        <code>cartage host add NAME</code>.
      </p>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={hosts}>
        {(found) => (
          <>
            <HostTable hosts={found} round={round} changed={hosts.reload} failed={setError} />
            {found.some((host) => host.control_only) && <ControlOnly />}
            <AddReplica hosts={found} added={() => setRound(round + 1)} />
          </>
        )}
      </Load>
      <Moves />
    </>
  )
}

function ControlOnly() {
  return (
    <p class="muted">
      The login of the control database is not a superuser, so its server takes no users. They need another
      host.
    </p>
  )
}

type HostTableProps = Readonly<{
  hosts: readonly HostDocument[]
  /** Changes after a replica was added. */
  round: number
  changed: () => void
  failed: (error: unknown) => void
}>

function HostTable({ hosts, round, changed, failed }: HostTableProps) {
  const readiness = useLoaded(readReadiness, [])
  return (
    <Table
      label="Hosts"
      head={[
        'Name',
        'Reachable',
        'Address',
        'Databases',
        'Replicas',
        'Takes users',
        ...(hosts.length > 1 ? ['Drain'] : []),
      ]}
    >
      {hosts.map((host) => (
        <tr key={host.name}>
          <td>{host.name}</td>
          <td>
            <Reachable verdict={readiness.value?.hosts[host.name]} />
          </td>
          <td class="mono">{host.address}</td>
          <td class="number">{formatCount(host.databases)}</td>
          <td>
            <Replicas host={host.name} round={round} failed={failed} />
          </td>
          <td>
            {host.control_only ? (
              'no: only the control database'
            ) : (
              <TakesUsers of={host} changed={changed} failed={failed} />
            )}
          </td>
          {hosts.length > 1 && (
            <td>{!host.control_only && <Drain of={host} changed={changed} failed={failed} />}</td>
          )}
        </tr>
      ))}
    </Table>
  )
}

function Reachable({ verdict }: Readonly<{ verdict: HostVerdict | undefined }>) {
  if (verdict === undefined) return <>…</>
  if (verdict === 'standby') return <span class="badge error">standby</span>
  return verdict === 'ok' ? <span class="badge good">yes</span> : <span class="badge error">no</span>
}

type OneHostProps = Readonly<{ of: HostDocument }> & Omit<HostTableProps, 'hosts' | 'round'>

function TakesUsers({ of: { name, accepts_users: isOpen }, changed, failed }: OneHostProps) {
  const { isBusy, begin } = useWork()
  const turn = () =>
    begin(async () => {
      failed(undefined)
      await changeHost(name, !isOpen).catch(failed)
      changed()
    })
  return (
    <label class="check">
      <input
        type="checkbox"
        aria-label={`${name} takes users`}
        checked={isOpen}
        disabled={isBusy}
        onChange={turn}
      />
      {isOpen ? 'yes' : 'no'}
    </label>
  )
}

function Drain({ of: { name, databases }, changed, failed }: OneHostProps) {
  const drain = async () => {
    const { moves, left } = await drainHost(name)
    changed()
    toast(`${plural(moves.length, 'move')} begun`)
    if (left.length > 0)
      throw new Error(left.map((one) => `${one.username ?? one.organization}: ${one.reason}`).join('. '))
  }
  return (
    <ConfirmedAct name={name} label={`Drain ${name}`} act="Drain host" run={drain} failed={failed}>
      <p>
        {name} takes no more users. Its databases ({formatCount(databases)}) move to other hosts one by one.
        While a database moves, its users get 503 and their jobs wait.
      </p>
    </ConfirmedAct>
  )
}
