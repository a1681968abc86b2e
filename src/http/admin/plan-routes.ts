import type { FastifyInstance } from 'fastify'
import { changePlan, createPlan, deletePlan } from '../../accounts/limits/manage-plans.ts'
import { findPlan, listPlans } from '../../accounts/limits/plan-store.ts'
import { errors } from '../../errors.ts'
import type { Services } from '../services.ts'
import { planDocument } from './document.ts'
import {
  newPlanSchema,
  planChangesSchema,
  planListSchema,
  planRemovalSchema,
  planSchema,
} from './plan-schemas.ts'
import { readNewPlan, readPlanChanges } from './request.ts'

/** Named sets of limits that users refer to. */
export function planRoutes(app: FastifyInstance, { installation, databases: { control } }: Services): void {
  app.get('/plans', { schema: planListSchema }, async () => ({
    plans: (await listPlans(control)).map(planDocument),
  }))

  app.post('/plans', { schema: newPlanSchema, attachValidation: true }, async (request, reply) => {
    const { name, limits } = readNewPlan(request)
    return reply.code(201).send(planDocument(await createPlan(installation, name, limits)))
  })

  app.get<OnePlan>(one, { schema: planSchema }, async ({ params }) => {
    const found = await findPlan(control, params.plan)
    if (!found) throw errors.planNotFound(params.plan)
    return planDocument(found)
  })

  app.patch<OnePlan>(one, { schema: planChangesSchema, attachValidation: true }, async (request) =>
    planDocument(await changePlan(installation, request.params.plan, readPlanChanges(request))),
  )

  app.delete<OnePlan>(one, { schema: planRemovalSchema }, async ({ params }) => {
    await deletePlan(installation, params.plan)
    return { name: params.plan, deleted: true }
  })
}

type OnePlan = { Params: { plan: string } }
const one = '/plans/:plan'
