/** Every operation of the HTTP API by its id, as in the OpenAPI description: a test holds the two together. */
export const operations = {
  listKeys: ['GET', '/user/{name}/api/v3/api_keys'],
  createKey: ['POST', '/user/{name}/api/v3/api_keys'],
  readKey: ['GET', '/user/{name}/api/v3/api_keys/{key}'],
  deleteKey: ['DELETE', '/user/{name}/api/v3/api_keys/{key}'],
  regenerateToken: ['POST', '/user/{name}/api/v3/api_keys/{key}/token/regenerate'],
  createJob: ['POST', '/user/{name}/api/v2/sql/job'],
  readJob: ['GET', '/user/{name}/api/v2/sql/job/{jobId}'],
  updateJob: ['PUT', '/user/{name}/api/v2/sql/job/{jobId}'],
  cancelJob: ['DELETE', '/user/{name}/api/v2/sql/job/{jobId}'],
  createJobByV4: ['POST', '/user/{name}/api/v4/jobs'],
  readJobByV4: ['GET', '/user/{name}/api/v4/jobs/{jobId}'],
  updateJobByV4: ['PUT', '/user/{name}/api/v4/jobs/{jobId}'],
  cancelJobByV4: ['DELETE', '/user/{name}/api/v4/jobs/{jobId}'],
  createImport: ['POST', '/user/{name}/api/v1/imports'],
  listImports: ['GET', '/user/{name}/api/v1/imports'],
  readImport: ['GET', '/user/{name}/api/v1/imports/{importId}'],
  cancelImport: ['DELETE', '/user/{name}/api/v1/imports/{importId}'],
  createExport: ['POST', '/user/{name}/api/v4/exports'],
  listExports: ['GET', '/user/{name}/api/v4/exports'],
  deleteExport: ['DELETE', '/user/{name}/api/v4/exports/{exportId}'],
  openExport: ['GET', '/user/{name}/api/v4/exports/{exportId}/{secret}'],
  copyFrom: ['POST', '/user/{name}/api/v2/sql/copyfrom'],
  copyTo: ['GET', '/user/{name}/api/v2/sql/copyto'],
  copyToByPost: ['POST', '/user/{name}/api/v2/sql/copyto'],
  query: ['POST', '/user/{name}/api/v2/sql'],
  queryByGet: ['GET', '/user/{name}/api/v2/sql'],
  openSession: ['GET', '/user/{name}/api/v4/session'],
  listTables: ['GET', '/user/{name}/api/v1/viz'],
  readTable: ['GET', '/user/{name}/api/v1/viz/{table}'],
  changePrivacy: ['PUT', '/user/{name}/api/v1/viz/{table}'],
  deleteTable: ['DELETE', '/user/{name}/api/v1/viz/{table}'],
  readTableDetails: ['GET', '/user/{name}/api/v1/tables/{table}'],
  listDatasets: ['GET', '/user/{name}/api/v4/datasets'],
  listTiles: ['GET', '/user/{name}/api/v1/tiles'],
  readTileJson: ['GET', '/user/{name}/api/v1/tiles/{table}'],
  readTile: ['GET', '/user/{name}/api/v1/tiles/{table}/{z}/{x}/{y}'],
  readTileSource: ['GET', '/user/{name}/carto/table'],
  whoAmI: ['GET', '/api/v4/me'],
  whoAmIByV3: ['GET', '/api/v3/me'],
  createUser: ['POST', '/admin/v1/users'],
  listUsers: ['GET', '/admin/v1/users'],
  readUser: ['GET', '/admin/v1/users/{username}'],
  changeUser: ['PATCH', '/admin/v1/users/{username}'],
  deleteUser: ['DELETE', '/admin/v1/users/{username}'],
  readMasterKey: ['GET', '/admin/v1/users/{username}/key'],
  regenerateMasterKey: ['POST', '/admin/v1/users/{username}/key/regenerate'],
  createOrganization: ['POST', '/admin/v1/organizations'],
  listOrganizations: ['GET', '/admin/v1/organizations'],
  readOrganization: ['GET', '/admin/v1/organizations/{organization}'],
  deleteOrganization: ['DELETE', '/admin/v1/organizations/{organization}'],
  listHosts: ['GET', '/admin/v1/hosts'],
  runDoctor: ['GET', '/admin/v1/doctor'],
  listAudit: ['GET', '/admin/v1/audit'],
  readActivity: ['GET', '/admin/v1/activity'],
  isAlive: ['GET', '/health/live'],
  isReady: ['GET', '/health/ready'],
  readMetrics: ['GET', '/metrics'],
  downloadCommandLine: ['GET', '/cli/cartage'],
} as const satisfies Record<string, readonly [method: string, path: string]>

export type OperationId = keyof typeof operations

/** The path of an operation with its parameters filled in. */
export function pathOf(operation: OperationId, parameters: Readonly<Record<string, string>>): string {
  return operations[operation][1].replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = parameters[name]
    if (value === undefined) throw new TypeError(`${operation} needs ${name}`)
    return encodeURIComponent(value)
  })
}
