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

export const usagePeriods = ['hour', 'day', 'month'] as const
export type UsagePeriod = (typeof usagePeriods)[number]

/** How long it is kept. */
export const usageDays = 90
