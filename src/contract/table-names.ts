/** The privacy of a table; `LINK` counts as `PUBLIC`. */
export const privacies = ['PUBLIC', 'PRIVATE'] as const
export type Privacy = (typeof privacies)[number]
export const acceptedPrivacies = ['PUBLIC', 'LINK', 'PRIVATE'] as const

/** What the key may do with a dataset. */
export const datasetModes = ['r', 'rw'] as const
export type DatasetMode = (typeof datasetModes)[number]
export const datasetPrivacies = ['public', 'private'] as const
export type DatasetPrivacy = (typeof datasetPrivacies)[number]

/** What the lists can be ordered by. */
export const tableOrders = ['name', 'updated_at'] as const
export type TableOrder = (typeof tableOrders)[number]
export const datasetOrders = ['name'] as const
export type DatasetOrder = (typeof datasetOrders)[number]
