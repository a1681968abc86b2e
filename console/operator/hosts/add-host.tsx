import { useState } from 'preact/hooks'
import type { HostDocument } from '../../../src/contract/documents.ts'
import { addHost, changeHost } from '../../api/operator.ts'
import { SelectField } from '../../parts/controls/select-field.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { TextField } from '../text-field.tsx'
import { AddressField } from './address-field.tsx'

const empty = { name: '', url: '' }

/** Makes a further cluster known, so that users are made there. */
export function AddHost({ added }: Readonly<{ added: () => void }>) {
  const [{ name, url }, setWanted] = useState(empty)
  const { isBusy, error, begin } = useWork()
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      await addHost({ name: name.trim(), url: url.trim() })
      setWanted(empty)
      added()
      toast(`${name.trim()} takes users`)
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>Add a host</h2>
      <p class="muted">A further PostgreSQL cluster with PostGIS. New users are made on the emptiest host.</p>
      <div class="form-grid">
        <TextField
          label="Name of the host"
          isRequired
          value={name}
          change={(text) => setWanted({ name: text, url })}
        />
        <AddressField
          label="Address of the host"
          value={url}
          change={(text) => setWanted({ name, url: text })}
        />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Adding…' : 'Add host'}
        </button>
      </div>
    </form>
  )
}

/** For a cluster that answers elsewhere now, such as after a fail-over. `hosts`: without the one of the configuration. */
export function ChangeAddress({
  hosts,
  changed,
}: Readonly<{ hosts: readonly HostDocument[]; changed: () => void }>) {
  const [chosen, choose] = useState('')
  const [url, setUrl] = useState('')
  const { isBusy, error, begin } = useWork()
  const names = hosts.map((host) => host.name)
  const host = names.includes(chosen) ? chosen : names[0]
  if (host === undefined) return null
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const { address } = await changeHost(host, { url: url.trim() })
      setUrl('')
      changed()
      toast(`${host} is at ${address}`)
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>Change the address of a host</h2>
      <p class="muted">The same cluster, or a copy of it that takes its place: it must have the databases.</p>
      <div class="form-grid">
        <SelectField label="Host" options={names} value={host} choose={choose} />
        <AddressField label="New address" value={url} change={setUrl} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Changing…' : 'Change address'}
        </button>
      </div>
    </form>
  )
}
