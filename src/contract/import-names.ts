/** What an import does if its table exists. Without one it chooses another name. */
export const collisionStrategies = ['skip', 'overwrite', 'append', 'upsert'] as const
export type CollisionStrategy = (typeof collisionStrategies)[number]

export const importPrivacies = ['public', 'link', 'private'] as const
export type ImportPrivacy = (typeof importPrivacies)[number]
