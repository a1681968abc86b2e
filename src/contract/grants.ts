/** What a key can be granted. In the order in which the texts of the service name them. */
export const apis = ['sql', 'maps'] as const
export const tablePermissions = ['insert', 'select', 'update', 'delete'] as const
export const schemaPermissions = ['create'] as const
export const dataServices = ['geocoding', 'routing', 'isolines', 'observatory'] as const

export type Api = (typeof apis)[number]
export type TablePermission = (typeof tablePermissions)[number]
export type SchemaPermission = (typeof schemaPermissions)[number]
export type DataService = (typeof dataServices)[number]

/** As people read them: reading first. */
export const shownPermissions: readonly TablePermission[] = [
  'select',
  ...tablePermissions.filter((permission) => permission !== 'select'),
]
