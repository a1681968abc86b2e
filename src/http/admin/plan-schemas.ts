import { accountLimitNames, endpointGroups } from '../../contract/admin-names.ts'
import { planNameRule } from '../../contract/limits.ts'
import { answered, knownExtras } from '../middleware/schemas.ts'

/** Limits of users, and plans: named sets of limits. */

const text = { type: 'string' } as const
const time = { type: 'string', format: 'date-time' } as const
const whole = { type: 'integer' } as const

const every = <Name extends string, Schema>(names: readonly Name[], schema: Schema) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>

const examples = [{ query_timeout_ms: 60000, jobs_at_once: 4, rates: { sql: '100/60', copyto: 'off' } }]

export const setLimits = {
  type: 'object',
  properties: {
    ...every(accountLimitNames, whole),
    rates: { type: 'object', properties: every(endpointGroups, text) },
  },
  examples,
} as const

export const effectiveLimits = {
  ...answered({
    ...every(accountLimitNames, whole),
    rates: { ...answered(every(endpointGroups, text)), description: '`off`: no limit' },
  }),
  description: 'Its own limits, else those of its plan, else the configured ones',
} as const

/** What a limit may be is checked by hand, in the words of the API. */
export const limitChanges = {
  type: 'object',
  description: `Members that are left out stay; null removes a limit. Known: ${accountLimitNames.join(', ')}, and rates of ${endpointGroups.join(', ')}`,
  examples,
} as const

const planName = { ...text, description: planNameRule, examples: ['small'] } as const

const plan = {
  title: 'Plan',
  description: 'The plan',
  ...answered({
    name: planName,
    limits: setLimits,
    users: { ...whole, description: 'How many refer to it' },
    created_at: time,
    updated_at: time,
  }),
} as const

const params = { type: 'object', properties: { plan: planName } } as const
const tags = ['admin']

export const planListSchema = {
  tags,
  summary: 'List the plans',
  response: {
    200: { description: 'All plans by name', ...answered({ plans: { type: 'array', items: plan } }) },
  },
} as const

export const newPlanSchema = {
  tags,
  summary: 'Create a plan: a named set of limits',
  description:
    'The limit of a user goes before the limit of its plan, and both go before the configured limit.',
  body: {
    type: 'object',
    required: ['name'],
    additionalProperties: false,
    properties: { name: planName, limits: limitChanges, ...knownExtras },
    examples: [{ name: 'small', limits: examples[0] }],
  },
  response: { 201: plan },
} as const

export const planSchema = { tags, summary: 'Read a plan', params, response: { 200: plan } } as const

export const planChangesSchema = {
  tags,
  summary: 'Change the limits of a plan',
  description: 'Holds at once for new work of every user with the plan.',
  params,
  body: {
    type: 'object',
    required: ['limits'],
    additionalProperties: false,
    properties: { limits: limitChanges, ...knownExtras },
  },
  response: { 200: plan },
} as const

export const planRemovalSchema = {
  tags,
  summary: 'Delete a plan that no user has',
  params,
  response: { 200: { description: 'It is gone', ...answered({ name: text, deleted: { const: true } }) } },
} as const
