import { useState } from 'preact/hooks'
import { endpointGroups } from '../../src/contract/admin-names.ts'
import type { UserChanges, UserDocument } from '../../src/contract/documents.ts'
import { defaultSchedules } from '../../src/contract/limits.ts'
import { describeQuota } from '../../src/contract/text/sizes.ts'
import { changeUser } from '../api/operator.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { QuotaField, readQuota } from './quota-field.tsx'
import { TextField } from './text-field.tsx'

type Rates = Readonly<Record<string, string>>
type Wanted = Readonly<{ quota: string; keys: string; schedules: string; rates: Rates; isAdmin: boolean }>

export function UserLimits({ of: user, reload }: Readonly<{ of: UserDocument; reload: () => void }>) {
  const [wanted, setWanted] = useState(() => limitsOf(user))
  const { isBusy, error, begin } = useWork()
  const change = (part: Partial<Wanted>) => setWanted({ ...wanted, ...part })
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      await changeUser(user.username, changesOf(user, wanted))
      toast('Saved')
      reload()
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>Limits</h2>
      <div class="form-grid">
        <QuotaField label="Quota" value={wanted.quota} change={(quota) => change({ quota })} />
        <TextField
          label="Maximum keys"
          help="Without the two that come with the account. Empty: as configured."
          placeholder="as configured"
          value={wanted.keys}
          change={(keys) => change({ keys })}
        />
        <TextField
          label="Maximum schedules"
          help={`Empty: ${defaultSchedules}.`}
          placeholder={String(defaultSchedules)}
          value={wanted.schedules}
          change={(schedules) => change({ schedules })}
        />
      </div>
      <RateFields rates={wanted.rates} change={(rates) => change({ rates })} />
      {isMember(user) && (
        <label class="check">
          <input
            type="checkbox"
            checked={wanted.isAdmin}
            onChange={() => change({ isAdmin: !wanted.isAdmin })}
          />
          Admin of {user.organization}
        </label>
      )}
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" class="primary" disabled={isBusy}>
          Save
        </button>
      </div>
    </form>
  )
}

function RateFields({ rates, change }: Readonly<{ rates: Rates; change: (rates: Rates) => void }>) {
  return (
    <>
      <h3>Rate limits</h3>
      <p class="muted">
        100/60: 100 requests in 60 seconds. 100/60+20: at most 20 of them at once. off: no limit. Empty: as
        configured.
      </p>
      <div class="form-grid">
        {endpointGroups.map((group) => (
          <TextField
            key={group}
            label={group}
            placeholder="as configured"
            value={rates[group] ?? ''}
            change={(text) => change({ ...rates, [group]: text })}
          />
        ))}
      </div>
    </>
  )
}

const isMember = ({ org_role }: UserDocument) => org_role === 'member' || org_role === 'admin'

function limitsOf({ quota_in_bytes, api_key_quota, limits, org_role }: UserDocument): Wanted {
  return {
    quota: quota_in_bytes === 0 ? '' : describeQuota(quota_in_bytes),
    keys: api_key_quota === null ? '' : String(api_key_quota),
    schedules: limits.schedules === undefined ? '' : String(limits.schedules),
    rates: (limits.rate ?? {}) as Rates,
    isAdmin: org_role === 'admin',
  }
}

function changesOf(user: UserDocument, { quota, keys, schedules, rates, isAdmin }: Wanted): UserChanges {
  const given = Object.entries(rates).map(([group, text]) => [group, text.trim()] as const)
  return {
    quota_in_bytes: readQuota(quota),
    api_key_quota: readNumber(keys, 'keys'),
    limits: {
      rate: Object.fromEntries(given.map(([group, text]) => [group, text === '' ? null : text])),
      schedules: readNumber(schedules, 'schedules'),
    },
    ...(isMember(user) && { org_admin: isAdmin }),
  }
}

function readNumber(text: string, things: string): number | null {
  if (text.trim() === '') return null
  if (/^\d{1,9}$/.test(text.trim())) return Number(text)
  throw new Error(`“${text}” is not a number of ${things}.`)
}
