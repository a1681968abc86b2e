import { useState } from 'preact/hooks'
import type { PlanDocument } from '../../../src/contract/documents.ts'
import { planNameRule } from '../../../src/contract/limits.ts'
import { createPlan, listPlans } from '../../api/operator.ts'
import { hrefOf, navigate, pathTo } from '../../parts/browser/route.ts'
import { formatCount } from '../../parts/format.ts'
import { Load, useLoaded } from '../../parts/loading.tsx'
import { Empty, ErrorNotice } from '../../parts/notice.tsx'
import { Table } from '../../parts/table.tsx'
import { useWork } from '../../parts/work.ts'
import { TextField } from '../text-field.tsx'
import { textsOf } from './limit-fields.tsx'

export function PlansPage() {
  const plans = useLoaded(listPlans, [])
  return (
    <>
      <h1>Plans</h1>
      <p class="muted">
        Named sets of limits that users refer to. A change holds for all users of a plan at once; a limit of a
        user beats that of its plan.
      </p>
      <Load from={plans}>{(found) => <List plans={found} />}</Load>
      <NewPlan />
    </>
  )
}

function List({ plans }: Readonly<{ plans: readonly PlanDocument[] }>) {
  if (plans.length === 0) return <Empty>No plans yet.</Empty>
  return (
    <Table label="Plans" head={['Name', 'Users', 'Limits']}>
      {plans.map(({ name, users, limits }) => (
        <tr key={name}>
          <td>
            <a href={hrefOf(pathTo('operator', 'plans', name))}>{name}</a>
          </td>
          <td class="number">{formatCount(users)}</td>
          <td class="mono small text">{describe(limits) || 'as configured'}</td>
        </tr>
      ))}
    </Table>
  )
}

function describe(limits: PlanDocument['limits']): string {
  const { numbers, rates } = textsOf(limits)
  return [...Object.entries(numbers), ...Object.entries(rates)]
    .map(([name, text]) => `${name}=${text}`)
    .join(' ')
}

function NewPlan() {
  const [name, setName] = useState('')
  const { isBusy, error, begin } = useWork()
  const submit = (event: Event) => {
    event.preventDefault()
    void begin(async () => {
      const plan = await createPlan(name.trim(), {})
      navigate(pathTo('operator', 'plans', plan.name))
    })
  }
  return (
    <form class="panel stack" onSubmit={submit}>
      <h2>New plan</h2>
      <div class="form-grid">
        <TextField label="Name" help={`It has ${planNameRule}.`} isRequired value={name} change={setName} />
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      <div>
        <button type="submit" class="primary" disabled={isBusy}>
          Create plan
        </button>
      </div>
    </form>
  )
}
