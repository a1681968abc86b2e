import { useState } from 'preact/hooks'
import type { UserChanges, UserDocument } from '../../../src/contract/documents.ts'
import { describeQuota } from '../../../src/contract/text/sizes.ts'
import { changeUser } from '../../api/operator.ts'
import { ErrorNotice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { QuotaField, readQuota } from '../quota-field.tsx'
import { TextField } from '../text-field.tsx'
import { LimitFields, type LimitTexts, limitsFrom, readNumber, textsOf } from './limit-fields.tsx'

type Wanted = Readonly<{
  quota: string
  keys: string
  plan: string
  limits: LimitTexts
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
      <h3>Limits of its own</h3>
      <LimitFields
        texts={wanted.limits}
        effective={user.effective_limits}
        empty="as the plan says, else as configured"
        change={(limits) => change({ limits })}
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

const isMember = ({ org_role }: UserDocument) => org_role === 'member' || org_role === 'admin'

function limitsOf({ quota_in_bytes, api_key_quota, limits, plan, org_role }: UserDocument): Wanted {
  return {
    quota: quota_in_bytes === 0 ? '' : describeQuota(quota_in_bytes),
    keys: api_key_quota === null ? '' : String(api_key_quota),
    plan: plan ?? '',
    limits: textsOf(limits),
    isAdmin: org_role === 'admin',
  }
}

function changesOf(user: UserDocument, { quota, keys, plan, limits, isAdmin }: Wanted): UserChanges {
  return {
    quota_in_bytes: readQuota(quota),
    api_key_quota: readNumber(keys, 'Maximum keys'),
    plan: plan.trim() || null,
    limits: limitsFrom(limits),
    ...(isMember(user) && { org_admin: isAdmin }),
  }
}
