import { changePlan, createPlan, deletePlan } from '../../accounts/limits/manage-plans.ts'
import { findPlan, listPlans, type Plan } from '../../accounts/limits/plan-store.ts'
import { errors } from '../../errors.ts'
import { type Command, wrongCall } from '../command.ts'
import { serviceCommand } from '../service-commands.ts'
import { asOperator } from './as-operator.ts'
import { describeLimits, readLimitOptions } from './limit-options.ts'

const create: Command['run'] = async ({ args, values }) => {
  const limits = readLimitOptions(values)
  return shown(await asOperator((installation) => createPlan(installation, args[0]!, limits)))
}

/** Changes the same limits as PATCH /admin/v1/plans/NAME. */
const set: Command['run'] = async ({ args, values }) => {
  const limits = readLimitOptions(values)
  if (!limits) throw wrongCall(serviceCommand('plan set'), 'give at least one limit to change')
  return shown(await asOperator((installation) => changePlan(installation, args[0]!, limits)))
}

const list: Command['run'] = async () => {
  const plans = await asOperator(({ databases }) => listPlans(databases.control))
  return {
    document: { plans: plans.map(planDocument) },
    lines: plans.map(({ name, users }) => `${name} (${users === 1 ? '1 user' : `${users} users`})`),
  }
}

const show: Command['run'] = async ({ args }) => {
  const found = await asOperator(({ databases }) => findPlan(databases.control, args[0]!))
  if (!found) throw errors.planNotFound(args[0]!)
  return shown(found)
}

const remove: Command['run'] = async ({ args }) => {
  const name = args[0]!
  await asOperator((installation) => deletePlan(installation, name))
  return { document: { name, deleted: true }, lines: [`deleted plan ${name}`] }
}

export const planRuns = {
  'plan create': create,
  'plan set': set,
  'plan list': list,
  'plan show': show,
  'plan delete': remove,
} as const

const shown = (plan: Plan) => ({
  document: planDocument(plan),
  lines: [
    `plan          ${plan.name}`,
    ...describeLimits({ setLimits: plan.limits }),
    `users         ${plan.users}`,
  ],
})

const planDocument = ({ name, limits, users }: Plan) => ({ name, limits, users })
