export const readinessStatuses = ['ok', 'unavailable'] as const
export type ReadinessStatus = (typeof readinessStatuses)[number]

/** `standby`: it takes no writes, so it is not used. */
export const hostVerdicts = ['ok', 'standby', 'unreachable'] as const
export type HostVerdict = (typeof hostVerdicts)[number]

export const replicationRoles = ['primary', 'standby'] as const
export type ReplicationRole = (typeof replicationRoles)[number]

/** The result of a check of doctor. */
export const checkStatuses = ['ok', 'warn', 'fail'] as const
export type CheckStatus = (typeof checkStatuses)[number]
