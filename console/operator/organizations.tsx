import { useState } from 'preact/hooks'
import type { OrganizationDocument } from '../../src/contract/documents.ts'
import { createOrganization, deleteOrganization, listHosts, listOrganizations } from '../api/operator.ts'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { ConfirmedAct } from '../parts/controls/confirmed-act.tsx'
import { formatAge, formatTime } from '../parts/format.ts'
import { Load, useLoaded } from '../parts/loading.tsx'
import { Empty, ErrorNotice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { MoveTo } from './hosts/move-to.tsx'
import { MadeKey } from './made-key.tsx'
import { QuotaField, readQuota } from './quota-field.tsx'
import { TextField } from './text-field.tsx'

export function OrganizationsPage() {
  const organizations = useLoaded(listOrganizations, [])
  const [error, setError] = useState<unknown>(undefined)
  return (
    <>
      <h1>Organizations</h1>
      <p class="muted">The members of an organization share a database. Each has their own schema.</p>
      {error !== undefined && <ErrorNotice error={error} />}
      <Load from={organizations}>
        {(found) => <List organizations={found} changed={organizations.reload} failed={setError} />}
      </Load>
      <NewOrganization changed={organizations.reload} />
    </>
  )
}

function List({
  organizations,
  changed,
  failed,
}: Readonly<{
  organizations: readonly OrganizationDocument[]
  changed: () => void
  failed: (error: unknown) => void
}>) {
  const hosts = useLoaded(listHosts, []).value ?? []
  if (organizations.length === 0) return <Empty>No organizations yet.</Empty>
  const remove = (name: string) => async () => {
    await deleteOrganization(name)
    toast(`Organization ${name} deleted`)
    changed()
  }
  return (
    <Table
      label="Organizations"
      head={['Name', 'Owner', 'Created', ...(hosts.length > 1 ? ['Host', 'Move'] : []), 'Delete']}
    >
      {organizations.map(({ name, owner: { username }, created_at, host }) => (
        <tr key={name}>
          <td>{name}</td>
          <td>{username && <a href={hrefOf(pathTo('operator', 'users', username))}>{username}</a>}</td>
          <td title={formatTime(created_at)}>{formatAge(created_at)}</td>
          {hosts.length > 1 && <td>{host}</td>}
          {hosts.length > 1 && (
            <td>
              <MoveTo of={{ kind: 'organization', name, host }} hosts={hosts} />
            </td>
          )}
          <td>
            <ConfirmedAct
              name={name}
              label={`Delete ${name}`}
              act="Delete organization"
              run={remove(name)}
              failed={failed}
            >
              <p>
                This also deletes its owner {username} with all their tables, jobs and keys. An organization
                with other members cannot be deleted.
              </p>
            </ConfirmedAct>
          </td>
        </tr>
      ))}
    </Table>
  )
}

const empty = { name: '', owner: '', quota: '' }

function NewOrganization({ changed }: Readonly<{ changed: () => void }>) {
  const [wanted, setWanted] = useState(empty)
  const [made, setMade] = useState<Awaited<ReturnType<typeof createOrganization>> | undefined>(undefined)
  const { isBusy, error, begin } = useWork()
  const change = (part: Partial<typeof empty>) => setWanted({ ...wanted, ...part })
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      setMade(undefined)
      const owner = { username: wanted.owner.trim(), quota_in_bytes: readQuota(wanted.quota) }
      setMade(await createOrganization({ name: wanted.name.trim(), owner }))
      setWanted(empty)
      changed()
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>New organization</h2>
      {made && (
        <MadeKey username={made.owner.username} token={made.owner.api_key}>
          {made.name} was created. Its owner is {made.owner.username}.
        </MadeKey>
      )}
      <div class="form-grid">
        <TextField label="Name" isRequired value={wanted.name} change={(name) => change({ name })} />
        <TextField
          label="Owner"
          help="Name of a new user, created with the organization."
          isRequired
          value={wanted.owner}
          change={(owner) => change({ owner })}
        />
        <QuotaField label="Quota of the owner" value={wanted.quota} change={(quota) => change({ quota })} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? 'Creating…' : 'Create organization'}
        </button>
      </div>
    </form>
  )
}
