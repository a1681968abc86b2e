import type { ClientBase } from 'pg'
import { operator, recordAudit } from '../../audit/audit-store.ts'
import { announceChange, awaitCaches } from '../../auth/change-feed.ts'
import type { AuditAction } from '../../contract/admin-names.ts'
import { planNameRule } from '../../contract/limits.ts'
import { errors } from '../../errors.ts'
import type { Installation } from '../../hosts/installation.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { type GivenLimits, readLimits, readNewLimits } from './check-limits.ts'
import { changePlanRow, deletePlanRow, findPlan, insertPlan, limitJobs, type Plan } from './plan-store.ts'

export async function createPlan(
  { databases: { control } }: Installation,
  name: string,
  wanted: GivenLimits = {},
): Promise<Plan> {
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(name))
    throw errors.accountInvalid(`The name of a plan must have ${planNameRule}`)
  if (name === 'none') throw errors.accountInvalid("A plan cannot be named 'none': this word means no plan")
  const limits = readNewLimits(wanted)
  return inTransaction(control, async (tx) => {
    await insertPlan(tx, name, limits)
    await note(tx, 'plan.created', name, { limits })
    return (await findPlan(tx, name))!
  })
}

/** Holds for new work of every account with the plan, in every process, when this returns. */
export async function changePlan(
  installation: Installation,
  name: string,
  wanted: GivenLimits,
): Promise<Plan> {
  const limits = readLimits(wanted)
  const { control } = installation.databases
  const plan = await inTransaction(control, async (tx) => {
    if (!(await changePlanRow(tx, name, limits))) throw errors.planNotFound(name)
    await limitJobs(tx, { plan: name })
    await note(tx, 'plan.changed', name, { limits })
    await announceChange(tx)
    return (await findPlan(tx, name))!
  })
  await awaitCaches(control, installation.log)
  return plan
}

/** Only a plan that no account refers to. */
export async function deletePlan({ databases: { control } }: Installation, name: string): Promise<void> {
  await inTransaction(control, async (tx) => {
    const users = await deletePlanRow(tx, name)
    if (!users) throw errors.planNotFound(name)
    if (users.length > 0) throw errors.planInUse(name, users)
    await note(tx, 'plan.deleted', name, {})
  })
}

const note = (
  tx: ClientBase,
  action: AuditAction,
  subject: string,
  details: Readonly<Record<string, unknown>>,
) => recordAudit(tx, { actor: operator, action, subject, details })
