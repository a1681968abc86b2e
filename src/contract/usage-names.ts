import type { AccountLimit, EndpointGroup } from './admin-names.ts'

/** What the use of an account is counted by. */
export const usageKinds = [
  'query',
  'copy',
  'tile',
  'map',
  'session',
  'export',
  'job',
  'import',
  'key',
  'table',
] as const
export type UsageKind = (typeof usageKinds)[number]

/** Limits of an account whose refusals are counted. Callers without a key have rates of their own. */
export type RefusingLimit = HeldLimit | `rates.${EndpointGroup}${'' | ' without a key'}`
/** The limits on what is used at the same time. */
export type HeldLimit = Extract<AccountLimit, 'connections' | 'tiles_at_once'>

export const usagePeriods = ['hour', 'day', 'month'] as const
export type UsagePeriod = (typeof usagePeriods)[number]

/** How long it is kept. */
export const usageDays = 90
