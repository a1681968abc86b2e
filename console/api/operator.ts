import type {
  ActivityDocument,
  AuditDocument,
  AuditFilter,
  BackupDocument,
  CheckDocument,
  DrainDocument,
  HostChanges,
  HostDocument,
  LimitChanges,
  MoveDocument,
  NewHost,
  NewOrganization,
  NewRestore,
  NewUser,
  OrganizationDocument,
  PlanDocument,
  Readiness,
  ReplicaDocument,
  RestoreDocument,
  StoppedActivity,
  UsageDocument,
  UserChanges,
  UserDocument,
  UserKeyList,
} from '../../src/contract/documents.ts'
import { ApiError } from './api-error.ts'
import { requestJson, requestText } from './request.ts'

/** The admin API, for the operator page. */

export type WithKey<Account> = Account & Readonly<{ api_key: string }>

export const listUsers = async (signal: AbortSignal) =>
  (await requestJson<{ users: readonly UserDocument[] }>('listUsers', { signal })).users

export const readUser = (username: string, signal: AbortSignal) =>
  requestJson<UserDocument>('readUser', { parameters: { username }, signal })

export const createUser = (json: NewUser) => requestJson<WithKey<UserDocument>>('createUser', { json })

export const changeUser = (username: string, json: UserChanges) =>
  requestJson<UserDocument>('changeUser', { parameters: { username }, json })

export const deleteUser = (username: string) => requestJson('deleteUser', { parameters: { username } })

export const suspendUser = (username: string, reason: string) =>
  requestJson<UserDocument>('suspendUser', { parameters: { username }, json: { reason } })

export const resumeUser = (username: string) =>
  requestJson<UserDocument>('resumeUser', { parameters: { username } })

/** The keys changed last come first; the table says how many more there are. */
export const listUserKeys = (username: string, signal: AbortSignal) =>
  requestJson<UserKeyList>('listUserKeys', {
    parameters: { username },
    query: { per_page: 200, order: 'name' },
    signal,
  })

/** The service records this in the audit log. */
export const readMasterKey = async (username: string) =>
  (await requestJson<{ api_key: string }>('readMasterKey', { parameters: { username } })).api_key

/** With `areAll` every other key has a new token too: `keys` has their names. */
export const regenerateMasterKey = (username: string, areAll: boolean) =>
  requestJson<Readonly<{ api_key: string; keys?: readonly string[] }>>('regenerateMasterKey', {
    parameters: { username },
    json: { all_keys: areAll },
  })

export const listOrganizations = async (signal: AbortSignal) =>
  (await requestJson<{ organizations: readonly OrganizationDocument[] }>('listOrganizations', { signal }))
    .organizations

export const createOrganization = (json: NewOrganization) =>
  requestJson<OrganizationDocument & { owner: WithKey<UserDocument> }>('createOrganization', { json })

export const deleteOrganization = (organization: string) =>
  requestJson('deleteOrganization', { parameters: { organization } })

export const listHosts = async (signal: AbortSignal) =>
  (await requestJson<{ hosts: readonly HostDocument[] }>('listHosts', { signal })).hosts

export const addHost = (json: NewHost) => requestJson<HostDocument>('addHost', { json })

/** Changes the address, or whether new users are created there and others move there. */
export const changeHost = (host: string, json: HostChanges) =>
  requestJson<HostDocument>('changeHost', { parameters: { host }, json })

/** Removes a host without users. For a lost host it also forgets what moves left there. */
export const removeHost = (host: string, isLost: boolean) =>
  requestJson('removeHost', { parameters: { host }, query: { lost: String(isLost) } })

/** Moves all accounts of the host to other hosts, or to one. */
export const drainHost = (host: string, json: Readonly<{ to?: string }>) =>
  requestJson<DrainDocument>('drainHost', { parameters: { host }, json })

export const listReplicas = async (host: string, signal: AbortSignal) =>
  (
    await requestJson<{ replicas: readonly ReplicaDocument[] }>('listReplicas', {
      parameters: { host },
      signal,
    })
  ).replicas

export const addReplica = (host: string, json: Readonly<{ name: string; url: string }>) =>
  requestJson<ReplicaDocument>('addReplica', { parameters: { host }, json })

export const removeReplica = (host: string, replica: string) =>
  requestJson('removeReplica', { parameters: { host, replica } })

export const listMoves = async (signal: AbortSignal) =>
  (await requestJson<{ moves: readonly MoveDocument[] }>('listMoves', { query: { limit: 50 }, signal })).moves

export const cancelMove = (id: number) =>
  requestJson<MoveDocument>('cancelMove', { parameters: { move: String(id) } })

export const moveUser = (username: string, host: string) =>
  requestJson<MoveDocument>('moveUser', { parameters: { username }, json: { host } })

export const moveOrganization = (organization: string, host: string) =>
  requestJson<MoveDocument>('moveOrganization', { parameters: { organization }, json: { host } })

export const listBackups = async (signal: AbortSignal) =>
  (await requestJson<{ backups: readonly BackupDocument[] }>('listBackups', { signal })).backups

export const createRestore = (json: NewRestore) => requestJson<RestoreDocument>('createRestore', { json })

export const listRestores = async (signal: AbortSignal) =>
  (
    await requestJson<{ restores: readonly RestoreDocument[] }>('listRestores', {
      query: { limit: 50 },
      signal,
    })
  ).restores

export const cancelRestore = (id: number) =>
  requestJson<RestoreDocument>('cancelRestore', { parameters: { restore: String(id) } })

export const readUserUsage = (username: string, signal: AbortSignal) =>
  requestJson<UsageDocument>('readUserUsage', { parameters: { username }, signal })

export const userUsageAsCsv = (username: string) =>
  requestText('readUserUsage', { parameters: { username }, query: { format: 'csv' } })

export const listPlans = async (signal: AbortSignal) =>
  (await requestJson<{ plans: readonly PlanDocument[] }>('listPlans', { signal })).plans

export const createPlan = (name: string, limits: LimitChanges) =>
  requestJson<PlanDocument>('createPlan', { json: { name, limits } })

export const changePlan = (plan: string, limits: LimitChanges) =>
  requestJson<PlanDocument>('changePlan', { parameters: { plan }, json: { limits } })

export const deletePlan = (plan: string) => requestJson('deletePlan', { parameters: { plan } })

export const runDoctor = async (signal: AbortSignal) =>
  (await requestJson<{ checks: readonly CheckDocument[] }>('runDoctor', { signal })).checks

export const listAudit = async (query: AuditFilter, signal?: AbortSignal) =>
  (await requestJson<{ records: readonly AuditDocument[] }>('listAudit', { query, signal })).records

export const stopActivity = (id: string) =>
  requestJson<StoppedActivity>('stopActivity', { parameters: { id } })

export const stopUserActivity = (username: string) =>
  requestJson<StoppedActivity>('stopUserActivity', { parameters: { username } })

export const readActivity = (signal: AbortSignal, limit?: number) =>
  requestJson<ActivityDocument>('readActivity', { query: { limit }, signal })

/** Of one user, with whole texts. The service records this in the audit log. */
export const readWholeTexts = async (user: string) =>
  (await requestJson<ActivityDocument>('readActivity', { query: { user, text: 'full' } })).statements

export type HostsReadiness = Pick<Readiness, 'status' | 'hosts'>

/** The readiness of the answering process. */
export const readReadiness = (signal: AbortSignal) =>
  requestJson<HostsReadiness>('isReady', { signal }).catch((error: unknown): HostsReadiness => {
    if (error instanceof ApiError && error.status === 503) return { status: 'unavailable', hosts: {} }
    throw error
  })
