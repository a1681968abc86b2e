import { useState } from 'preact/hooks'
import { type AccountLimit, accountLimitNames, endpointGroups } from '../../src/contract/admin-names.ts'
import type { EffectiveLimits, UserChanges, UserDocument } from '../../src/contract/documents.ts'
import { describeQuota } from '../../src/contract/text/sizes.ts'
import { changeUser } from '../api/operator.ts'
import { ErrorNotice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useWork } from '../parts/work.ts'
import { QuotaField, readQuota } from './quota-field.tsx'
import { TextField } from './text-field.tsx'

type Texts = Readonly<Record<string, string>>
type Wanted = Readonly<{
  quota: string
  keys: string
  plan: string
  numbers: Texts
  rates: Texts
  isAdmin: boolean
}>

export function UserLimits({ of: user, reload }: Readonly<{ of: UserDocument; reload: () => void }>) {
  const [wanted, setWanted] = useState(() => limitsOf(user))
  const { isAdmin } = wanted
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
          label="Plan"
          help="A named set of limits. Empty: none."
          placeholder="none"
          value={wanted.plan}
          change={(plan) => change({ plan })}
        />
      </div>
      <NumberFields
        numbers={wanted.numbers}
        effective={user.effective_limits}
        change={(numbers) => change({ numbers })}
      />
      <RateFields
        rates={wanted.rates}
        effective={user.effective_limits}
        change={(rates) => change({ rates })}
      />
      {isMember(user) && (
        <label class="check">
          <input type="checkbox" checked={isAdmin} onChange={() => change({ isAdmin: !isAdmin })} />
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

function NumberFields({ numbers, effective, change }: FieldsProps<'numbers'>) {
  return (
    <>
      <h3>Limits of its own</h3>
      <p class="muted">They beat those of the plan. Empty: as the plan says, else as configured.</p>
      <div class="form-grid">
        {accountLimitNames.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            placeholder={String(effective[name])}
            value={numbers[name] ?? ''}
            change={(text) => change({ ...numbers, [name]: text })}
          />
        ))}
      </div>
    </>
  )
}

type FieldsProps<Name extends string> = Readonly<
  Record<Name, Texts> & { effective: EffectiveLimits; change: (texts: Texts) => void }
>

const labels: Readonly<Record<AccountLimit, string>> = {
  query_timeout_ms: 'Time of a statement (ms)',
  job_timeout_ms: 'Time of a statement of a job (ms)',
  copy_timeout_ms: 'Time of a copy (ms)',
  jobs_at_once: 'Jobs at once',
  jobs_queued: 'Jobs queued',
  connections: 'Connections of a process',
  imports_at_once: 'Imports at once',
  tiles_at_once: 'Tiles at once of a process',
  schedules: 'Maximum schedules',
}

function RateFields({ rates, effective, change }: FieldsProps<'rates'>) {
  return (
    <>
      <h3>Rate limits</h3>
      <p class="muted">
        100/60: 100 requests in 60 seconds. 100/60+20: at most 20 of them at once. off: no limit. Empty: as
        the plan says, else as configured.
      </p>
      <div class="form-grid">
        {endpointGroups.map((group) => (
          <TextField
            key={group}
            label={group}
            placeholder={effective.rates[group]}
            value={rates[group] ?? ''}
            change={(text) => change({ ...rates, [group]: text })}
          />
        ))}
      </div>
    </>
  )
}

const isMember = ({ org_role }: UserDocument) => org_role === 'member' || org_role === 'admin'

function limitsOf({ quota_in_bytes, api_key_quota, limits, plan, org_role }: UserDocument): Wanted {
  const { rates = {}, ...numbers } = limits
  return {
    quota: quota_in_bytes === 0 ? '' : describeQuota(quota_in_bytes),
    keys: api_key_quota === null ? '' : String(api_key_quota),
    plan: plan ?? '',
    numbers: Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, String(value)])),
    rates,
    isAdmin: org_role === 'admin',
  }
}

function changesOf(user: UserDocument, { quota, keys, plan, numbers, rates, isAdmin }: Wanted): UserChanges {
  const given = Object.entries(rates).map(([group, text]) => [group, text.trim()] as const)
  return {
    quota_in_bytes: readQuota(quota),
    api_key_quota: readNumber(keys, 'Maximum keys'),
    plan: plan.trim() || null,
    limits: {
      ...Object.fromEntries(
        accountLimitNames.map((name) => [name, readNumber(numbers[name] ?? '', labels[name])]),
      ),
      rates: Object.fromEntries(given.map(([group, text]) => [group, text === '' ? null : text])),
    },
    ...(isMember(user) && { org_admin: isAdmin }),
  }
}

function readNumber(text: string, what: string): number | null {
  if (text.trim() === '') return null
  if (/^\d{1,10}$/.test(text.trim())) return Number(text)
  throw new Error(`${what}: “${text}” is not a whole number.`)
}
