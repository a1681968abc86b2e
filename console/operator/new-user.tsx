import { useState } from 'preact/hooks'
import type { UserDocument } from '../../src/contract/documents.ts'
import { accountNameRule } from '../../src/contract/limits.ts'
import { createUser, type WithKey } from '../api/operator.ts'
import { hrefOf, pathTo } from '../parts/browser/route.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { useWork } from '../parts/work.ts'
import { MadeKey } from './made-key.tsx'
import { QuotaField, readQuota } from './quota-field.tsx'
import { TextField } from './text-field.tsx'

const empty = { username: '', quota: '', organization: '', isAdmin: false }

export function NewUserPage() {
  const [wanted, setWanted] = useState(empty)
  const [made, setMade] = useState<WithKey<UserDocument> | undefined>(undefined)
  const { isBusy, error, begin } = useWork()
  const change = (part: Partial<typeof empty>) => setWanted({ ...wanted, ...part })
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      setMade(undefined)
      setMade(await createUser(bodyOf(wanted)))
      setWanted(empty)
    })
  }
  const hasOrganization = wanted.organization.trim() !== ''
  return (
    <>
      <h1>New user</h1>
      {made && (
        <MadeKey username={made.username} token={made.api_key}>
          <a href={hrefOf(pathTo('operator', 'users', made.username))}>{made.username}</a> was created.
        </MadeKey>
      )}
      <form class="panel stack" onSubmit={submit}>
        <div class="form-grid">
          <TextField
            label="Name"
            help={`${accountNameRule}.`}
            isRequired
            value={wanted.username}
            change={(username) => change({ username })}
          />
          <QuotaField label="Quota" value={wanted.quota} change={(quota) => change({ quota })} />
          <TextField
            label="Organization"
            help="Empty: the user gets their own database."
            value={wanted.organization}
            change={(organization) => change({ organization })}
          />
        </div>
        <label class="check">
          <input
            type="checkbox"
            disabled={!hasOrganization}
            checked={hasOrganization && wanted.isAdmin}
            onChange={() => change({ isAdmin: !wanted.isAdmin })}
          />
          Admin of the organization
        </label>
        {error !== undefined && <ErrorNotice error={error} />}
        <div>
          <button type="submit" class="primary" disabled={isBusy}>
            {isBusy ? 'Creating…' : 'Create user'}
          </button>
        </div>
      </form>
    </>
  )
}

function bodyOf({ username, quota, organization, isAdmin }: typeof empty) {
  const named = organization.trim()
  return {
    username: username.trim(),
    quota_in_bytes: readQuota(quota),
    ...(named && { organization: named, org_admin: isAdmin }),
  }
}
