import { useState } from 'preact/hooks'
import type { PlanDocument } from '../../../src/contract/documents.ts'
import { changePlan, deletePlan, listPlans } from '../../api/operator.ts'
import { hrefOf, navigate } from '../../parts/browser/route.ts'
import { ConfirmedAct } from '../../parts/controls/confirmed-act.tsx'
import { formatCount } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWork } from '../../parts/work.ts'
import { LimitFields, limitsFrom, textsOf } from './limit-fields.tsx'

export function OnePlanPage({ name }: Readonly<{ name: string }>) {
  const plans = useLoaded(listPlans, [])
  return (
    <Load from={plans}>
      {(found) => {
        const plan = found.find((each) => each.name === name)
        return plan ? <KnownPlan key={name} of={plan} reload={plans.reload} /> : <Unknown name={name} />
      }}
    </Load>
  )
}

const Unknown = ({ name }: Readonly<{ name: string }>) => (
  <Empty>
    <span>Plan “{name}” was not found.</span>
    <a class="button" href={hrefOf('/operator/plans')}>
      All plans
    </a>
  </Empty>
)

function KnownPlan({
  of: { name, limits, users },
  reload,
}: Readonly<{ of: PlanDocument; reload: () => void }>) {
  const [texts, setTexts] = useState(() => textsOf(limits))
  const [failure, setFailure] = useState<unknown>(undefined)
  const { isBusy, error = failure, begin } = useWork()
  const submit = (event: Event) => {
    event.preventDefault()
    setFailure(undefined)
    void begin(async () => {
      await changePlan(name, limitsFrom(texts))
      toast('Saved')
      reload()
    })
  }
  const remove = async () => {
    await deletePlan(name)
    toast(`Plan ${name} deleted`)
    navigate('/operator/plans')
  }
  return (
    <>
      <div class="page-head">
        <div class="stack tight grow">
          <p class="small">
            <a href={hrefOf('/operator/plans')}>Plans</a> /
          </p>
          <h1 class="name">{name}</h1>
          <p class="muted">Users of this plan: {formatCount(users)}.</p>
        </div>
        <ConfirmedAct name={name} label="Delete" act="Delete plan" run={remove} failed={setFailure}>
          <p>A plan that users have cannot be deleted.</p>
        </ConfirmedAct>
      </div>
      <form class="panel stack" onSubmit={submit}>
        <h2>Limits</h2>
        <LimitFields texts={texts} empty="as configured" change={setTexts} />
        {error !== undefined && <ErrorNotice error={error} />}
        <div>
          <button type="submit" class="primary" disabled={isBusy}>
            Save
          </button>
        </div>
      </form>
    </>
  )
}
