import { useState } from 'preact/hooks'
import type { HostDocument, ReplicaDocument } from '../../../src/contract/documents.ts'
import { addReplica, listReplicas, removeReplica } from '../../api/operator.ts'
import { ConfirmedAct } from '../../parts/controls/confirmed-act.tsx'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { TextField } from '../text-field.tsx'
import { AddressField } from './address-field.tsx'

type ReplicasProps = Readonly<{
  host: string
  /** Changes after one was added. */
  round: number
  failed: (error: unknown) => void
}>

/** The replicas of a host, each with a button that removes it. */
export function Replicas({ host, round, failed }: ReplicasProps) {
  const { value, error, reload } = useLoaded((signal) => listReplicas(host, signal), [host, round])
  if (error !== undefined) return <>?</>
  if (!value) return <>…</>
  return (
    <>
      {value.map((replica) => (
        <OneReplica key={replica.name} of={replica} host={host} changed={reload} failed={failed} />
      ))}
    </>
  )
}

type OneReplicaProps = Readonly<{
  of: ReplicaDocument
  host: string
  changed: () => void
  failed: (error: unknown) => void
}>

function OneReplica({ of: { name, address }, host, changed, failed }: OneReplicaProps) {
  const remove = async () => {
    await removeReplica(host, name)
    changed()
  }
  return (
    <div class="row">
      <span>
        {name} (<span class="mono">{address}</span>)
      </span>
      <ConfirmedAct name={name} label={`Remove ${name}`} act="Remove replica" run={remove} failed={failed}>
        <p>The host answers the requests that {name} answers now. The server itself is not changed.</p>
      </ConfirmedAct>
    </div>
  )
}

const empty = { host: '', name: '', url: '' }

/** Adds a standby of a host, so that it answers reads. */
export function AddReplica({
  hosts,
  added,
}: Readonly<{ hosts: readonly HostDocument[]; added: () => void }>) {
  const [wanted, setWanted] = useState(empty)
  const { isBusy, error, begin } = useWork()
  const change = (part: Partial<typeof empty>) => setWanted({ ...wanted, ...part })
  const names = hosts.filter((host) => !host.control_only).map((host) => host.name)
  const host = names.includes(wanted.host) ? wanted.host : names[0]
  if (host === undefined) return null
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const { name } = await addReplica(host, { name: wanted.name.trim(), url: wanted.url.trim() })
      setWanted(empty)
      added()
      toast(`${name} answers reads of ${host}`)
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>Add a replica</h2>
      <p class="muted">
        A standby of a host. It answers requests with <code>X-Read-From: replica</code>, and keys that read
        from replicas.
      </p>
      <div class="form-grid">
        <SelectField label="Of host" options={names} value={host} choose={(of) => change({ host: of })} />
        <TextField
          label="Name of the replica"
          isRequired
          value={wanted.name}
          change={(name) => change({ name })}
        />
        <AddressField label="Address of the replica" value={wanted.url} change={(url) => change({ url })} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Adding…' : 'Add replica'}
        </button>
      </div>
    </form>
  )
}
