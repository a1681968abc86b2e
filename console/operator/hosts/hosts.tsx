import { useState } from 'preact/hooks'
import type { HostDocument } from '../../../src/contract/documents.ts'
import type { HostVerdict } from '../../../src/contract/health-names.ts'
import { changeHost, drainHost, listHosts, readReadiness, removeHost } from '../../api/operator.ts'
import { ConfirmedAct } from '../../parts/controls/confirmed-act.tsx'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { AddHost, ChangeAddress } from './add-host.tsx'
import { Moves } from './moves.tsx'
import { AddReplica, Replicas } from './replicas.tsx'

export function HostsPage() {
  const hosts = useLoaded(listHosts, [])
  const [error, setError] = useState<unknown>(undefined)
  const [round, setRound] = useState(0)
  return (
    <>
      <h1>Hosts</h1>
      <p class="muted">The PostgreSQL clusters that hold the databases of users.</p>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={hosts}>
        {(found) => (
          <>
            <HostTable hosts={found} round={round} changed={hosts.reload} failed={setError} />
            {found.some((host) => host.control_only) && <ControlOnly />}
            <AddHost added={hosts.reload} />
            <ChangeAddress hosts={found.slice(1)} changed={hosts.reload} />
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
  const readiness = useLoaded(readReadiness, [hosts])
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
        ...(hosts.length > 1 ? ['Drain', 'Remove'] : []),
      ]}
    >
      {hosts.map((host, place) => (
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
            <>
              <td>
                {!host.control_only && <Drain of={host} hosts={hosts} changed={changed} failed={failed} />}
              </td>
              {/* The first one comes from the configuration. */}
              <td>{place > 0 && <Remove of={host} changed={changed} failed={failed} />}</td>
            </>
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
      await changeHost(name, { accepts_users: !isOpen }).catch(failed)
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

function Drain({
  of: { name, databases },
  hosts,
  changed,
  failed,
}: OneHostProps & Pick<HostTableProps, 'hosts'>) {
  const [chosen, choose] = useState(anyHost)
  const others = hosts.filter((host) => host.accepts_users && host.name !== name).map((host) => host.name)
  const drain = async () => {
    const { moves, left } = await drainHost(name, others.includes(chosen) ? { to: chosen } : {})
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
      {others.length > 1 && (
        <SelectField label="To host" options={[anyHost, ...others]} value={chosen} choose={choose} />
      )}
    </ConfirmedAct>
  )
}

const anyHost = 'the emptiest of all'

function Remove({ of: { name }, changed, failed }: OneHostProps) {
  const [isLost, setLost] = useState(false)
  const remove = async () => {
    await removeHost(name, isLost)
    changed()
    toast(`${name} is removed`)
  }
  return (
    <ConfirmedAct name={name} label={`Remove ${name}`} act="Remove host" run={remove} failed={failed}>
      <p>A host with users is not removed: drain it first. The cluster itself stays.</p>
      <label class="check">
        <input type="checkbox" checked={isLost} onChange={() => setLost(!isLost)} />
        It never answers again: forget what moves have left there
      </label>
    </ConfirmedAct>
  )
}
