import type {
  ActivityDocument,
  ActivityFilter,
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
  ReplicaDocument,
  RestoreDocument,
  StoppedActivity,
  UsageDocument,
  UsageFilter,
  UserChanges,
  UserDocument,
  UserKeyList,
} from '../contract/documents.ts'
import type { KeyListing } from './api/keys-api.ts'
import { connect } from './http/connect.ts'
import type { Connection } from './http/send.ts'
import { sendForJson } from './http/send-checked.ts'
import type { Transport } from './http/transport.ts'

export type AdminClient = ReturnType<typeof adminClient>
export type AdminOptions = Readonly<{ baseUrl: string; token: string; retries?: number }>

/** The operator's view: users, organizations and the installation itself. */
export function adminClient({ baseUrl, token, retries }: AdminOptions, transport: Transport) {
  const connection = connect(baseUrl, `Bearer ${token}`, transport, retries)
  return {
    users: usersOf(connection),
    plans: plansOf(connection),
    organizations: organizationsOf(connection),
    hosts: hostsOf(connection),
    moves: movesOf(connection),
    /** Files that users can be restored from. */
    backups: async () =>
      (await sendForJson<{ readonly backups: readonly BackupDocument[] }>(connection, 'listBackups')).backups,
    restores: restoresOf(connection),
    /** Looks the installation over: what was seen, and what to do. */
    doctor: async () =>
      (await sendForJson<{ readonly checks: readonly CheckDocument[] }>(connection, 'runDoctor')).checks,
    /** The newest first; older ones with `before`. */
    audit: async (query: AuditFilter = {}) =>
      (await sendForJson<{ readonly records: readonly AuditDocument[] }>(connection, 'listAudit', { query }))
        .records,
    /** What runs now in all processes, and who waits. */
    activity: (query: ActivityFilter = {}) =>
      sendForJson<ActivityDocument>(connection, 'readActivity', { query }),
    /** Stops a statement, or cancels a job, by its id in the activity. */
    stopActivity: (id: string) =>
      sendForJson<StoppedActivity>(connection, 'stopActivity', { parameters: { id } }),
    close: transport.close,
  }
}

function usersOf(connection: Connection) {
  const user = (username: string) => ({ parameters: { username } })
  return {
    /** The answer carries the master token. */
    create: (json: NewUser) =>
      sendForJson<UserDocument & { readonly api_key: string }>(connection, 'createUser', { json }),
    list: async () =>
      (await sendForJson<{ readonly users: readonly UserDocument[] }>(connection, 'listUsers')).users,
    read: (username: string) => sendForJson<UserDocument>(connection, 'readUser', user(username)),
    change: (username: string, json: UserChanges) =>
      sendForJson<UserDocument>(connection, 'changeUser', { ...user(username), json }),
    delete: (username: string) => sendForJson<Deleted<'username'>>(connection, 'deleteUser', user(username)),
    /** Refuses all requests of the user, and has its jobs wait, until `resume`. */
    suspend: (username: string, reason: string) =>
      sendForJson<UserDocument>(connection, 'suspendUser', { ...user(username), json: { reason } }),
    resume: (username: string) => sendForJson<UserDocument>(connection, 'resumeUser', user(username)),
    /** What it has used. */
    usage: (username: string, query: UsageFilter = {}) =>
      sendForJson<UsageDocument>(connection, 'readUserUsage', { ...user(username), query }),
    /** Stops all its statements, and cancels its running jobs. */
    stopActivity: (username: string) =>
      sendForJson<StoppedActivity>(connection, 'stopUserActivity', user(username)),
    /** Begins to move the user to another host. `moves.read` tells how far it is. */
    move: (username: string, host: string) =>
      sendForJson<MoveDocument>(connection, 'moveUser', { ...user(username), json: { host } }),
    /** Names, grants and last use; never tokens. */
    keys: (username: string, query: KeyListing = {}) =>
      sendForJson<UserKeyList>(connection, 'listUserKeys', { ...user(username), query }),
    /** The master token; that it was looked at is recorded. */
    readKey: (username: string) => sendForJson<MasterKey>(connection, 'readMasterKey', user(username)),
    /** A new master token: the old one stops working at once. With `all_keys` new tokens of all keys. */
    regenerateKey: (username: string, json: Readonly<{ all_keys?: boolean }> = {}) =>
      sendForJson<RegeneratedKeys>(connection, 'regenerateMasterKey', { ...user(username), json }),
  }
}

/** Named sets of limits that users refer to. */
function plansOf(connection: Connection) {
  const plan = (name: string) => ({ parameters: { plan: name } })
  return {
    create: (json: Readonly<{ name: string; limits?: LimitChanges }>) =>
      sendForJson<PlanDocument>(connection, 'createPlan', { json }),
    list: async () =>
      (await sendForJson<{ readonly plans: readonly PlanDocument[] }>(connection, 'listPlans')).plans,
    read: (name: string) => sendForJson<PlanDocument>(connection, 'readPlan', plan(name)),
    /** What is left out stays; null removes a limit. */
    change: (name: string, limits: LimitChanges) =>
      sendForJson<PlanDocument>(connection, 'changePlan', { ...plan(name), json: { limits } }),
    /** Refused while a user has it. */
    delete: (name: string) => sendForJson<Deleted<'name'>>(connection, 'deletePlan', plan(name)),
  }
}

function organizationsOf(connection: Connection) {
  const one = (organization: string) => ({ parameters: { organization } })
  return {
    create: (json: NewOrganization) =>
      sendForJson<CreatedOrganizationDocument>(connection, 'createOrganization', { json }),
    list: async () => (await sendForJson<OrganizationList>(connection, 'listOrganizations')).organizations,
    read: (name: string) => sendForJson<OrganizationDocument>(connection, 'readOrganization', one(name)),
    delete: (name: string) => sendForJson<Deleted<'name'>>(connection, 'deleteOrganization', one(name)),
    /** Begins to move the organization, with all its members, to another host. `moves.read` tells how far it is. */
    move: (name: string, host: string) =>
      sendForJson<MoveDocument>(connection, 'moveOrganization', { ...one(name), json: { host } }),
  }
}

const hostsOf = (connection: Connection) => ({
  list: async () =>
    (await sendForJson<{ readonly hosts: readonly HostDocument[] }>(connection, 'listHosts')).hosts,
  /** Checks and prepares the cluster at this address, with a superuser, and makes new users there from then on. */
  add: (json: NewHost) => sendForJson<HostDocument>(connection, 'addHost', { json }),
  /** Its address, or whether it takes new users. */
  change: (host: string, json: HostChanges) =>
    sendForJson<HostDocument>(connection, 'changeHost', { parameters: { host }, json }),
  /** Refused while it has users. `lost`: it never answers again, so forget what moves have left there. */
  remove: (host: string, query: Readonly<{ lost?: boolean }> = {}) =>
    sendForJson<Deleted<'name'>>(connection, 'removeHost', { parameters: { host }, query }),
  /** Standbys of a host that may answer reads. */
  replicas: (host: string) => replicasOf(connection, host),
  /** Begins to move all that it has to other hosts, or to one. Can be repeated. */
  drain: (host: string, json: Readonly<{ to?: string }> = {}) =>
    sendForJson<DrainDocument>(connection, 'drainHost', { parameters: { host }, json }),
})

function replicasOf(connection: Connection, host: string) {
  const parameters = { host }
  return {
    list: async () => (await sendForJson<ReplicaList>(connection, 'listReplicas', { parameters })).replicas,
    add: (json: Readonly<{ name: string; url: string }>) =>
      sendForJson<ReplicaDocument>(connection, 'addReplica', { parameters, json }),
    remove: (replica: string) =>
      sendForJson<Deleted<'name'>>(connection, 'removeReplica', { parameters: { host, replica } }),
  }
}

type ReplicaList = Readonly<{ replicas: readonly ReplicaDocument[] }>

const movesOf = (connection: Connection) => ({
  /** The newest first. */
  list: async (query: Readonly<{ limit?: number }> = {}) =>
    (await sendForJson<{ readonly moves: readonly MoveDocument[] }>(connection, 'listMoves', { query }))
      .moves,
  read: (id: number) =>
    sendForJson<MoveDocument>(connection, 'readMove', { parameters: { move: String(id) } }),
  /** Before its switch; then `read` tells when it is undone. */
  cancel: (id: number) =>
    sendForJson<MoveDocument>(connection, 'cancelMove', { parameters: { move: String(id) } }),
})

const restoresOf = (connection: Connection) => ({
  /** Begins to make a new user of one in a backup. `read` tells how far it is; `users.readKey` has its master key. */
  create: (json: NewRestore) => sendForJson<RestoreDocument>(connection, 'createRestore', { json }),
  /** The newest first. */
  list: async (query: Readonly<{ limit?: number }> = {}) =>
    (
      await sendForJson<{ readonly restores: readonly RestoreDocument[] }>(connection, 'listRestores', {
        query,
      })
    ).restores,
  read: (id: number) =>
    sendForJson<RestoreDocument>(connection, 'readRestore', { parameters: { restore: String(id) } }),
  /** Before its user is made. */
  cancel: (id: number) =>
    sendForJson<RestoreDocument>(connection, 'cancelRestore', { parameters: { restore: String(id) } }),
})

export type MasterKey = Readonly<{ username: string; api_key: string }>
export type RegeneratedKeys = MasterKey &
  Readonly<{
    /** With `all_keys`: the names of all keys that have a new token. */
    keys?: readonly string[]
  }>
export type Deleted<Name extends string> = Readonly<Record<Name, string> & { deleted: true }>
export type OrganizationList = Readonly<{ organizations: readonly OrganizationDocument[] }>
export type CreatedOrganizationDocument = OrganizationDocument &
  Readonly<{ owner: UserDocument & Readonly<{ api_key: string }> }>
