import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ClientBase } from 'pg'
import { recordAudit } from '../../audit/audit-store.ts'
import type { Account, Principal } from '../../auth/account.ts'
import type { HistoryList, ToldStatement } from '../../contract/documents.ts'
import { defaultKeyName } from '../../contract/key-names.ts'
import { errors } from '../../errors.ts'
import {
  addEntry,
  deleteEntries,
  deleteEntry,
  findKeyId,
  type HistoryOf,
  listEntries,
} from '../../history/history-store.ts'
import { noteReading } from '../../history/note-reading.ts'
import { inTransaction } from '../../postgres/transaction.ts'
import { addressedAccount } from '../keys/addressed-account.ts'
import { keysCaller, sqlCaller } from '../middleware/authenticate.ts'
import { clientAddress } from '../middleware/credential/client-address.ts'
import { credentialIn } from '../middleware/credential/request-credential.ts'
import { forbidStoring } from '../middleware/guard-answers.ts'
import type { Services } from '../services.ts'
import { statementDocument } from './document.ts'
import { readEntryId, readKeyOfHistory, readNewEntry, readWantedHistory } from './request.ts'
import { clearHistorySchema, deleteEntrySchema, listHistorySchema, tellHistorySchema } from './schemas.ts'

/** The statements that people ran, as their programs tell them: in every browser in which the same key signs in. */
export async function historyRoutes(app: FastifyInstance, services: Services): Promise<void> {
  forbidStoring(app)
  // The schemas only describe; the readers report what is wrong, in this API's own words.
  app.setValidatorCompiler(() => () => true)
  const days = services.config.historyDays
  const { control } = services.databases

  app.get('/api/v4/history', { ...common, schema: listHistorySchema }, async (request) => {
    const { key, ...wanted } = readWantedHistory(request)
    const whose = await historyOf(services, request, key)
    const { entries, hasMore } = days === 0 ? nothing : await listEntries(control, whose, { ...wanted, days })
    const next = hasMore ? entries.at(-1)!.number : null
    return { kept_days: days, statements: entries.map(statementDocument), next } satisfies HistoryList
  })

  app.post('/api/v4/history', { ...common, schema: tellHistorySchema }, async (request) => {
    const principal = await holderOf(services, request)
    const { key, ...entry } = readNewEntry(request.body, credentialIn(request))
    const ranAs = await keyThatRan(services, principal, key)
    if (days > 0) await addEntry(control, { keyId: principal.key.id, ranAs }, entry)
    return { id: entry.id, kept: days > 0 } satisfies ToldStatement
  })

  app.delete('/api/v4/history', { ...common, schema: clearHistorySchema }, async (request, reply) => {
    const key = readKeyOfHistory(request)
    if (key !== undefined) await deleteWhatRan(services, request, key)
    else await deleteEntries(control, { history: (await holderOf(services, request)).key.id })
    return reply.code(204).send()
  })

  app.delete('/api/v4/history/:entry', { ...common, schema: deleteEntrySchema }, async (request, reply) => {
    const { account, key } = await holderOf(services, request)
    const ownKey = key.type === 'master' ? undefined : key.id
    const entry = readEntryId(request)
    await inTransaction(control, async (tx) => {
      const keys = await deleteEntry(tx, account.userId, ownKey, entry)
      for (const { id, name } of keys)
        if (id !== key.id) await recordDeletion(tx, request, account, { key: name, statements: 1 })
    })
    return reply.code(204).send()
  })
}

const nothing = { entries: [], hasMore: false } as const

const common = { config: { rateGroup: 'tables' } } as const

/** All strangers share the public key, so it has no history. */
async function holderOf(services: Services, request: FastifyRequest): Promise<Principal> {
  const principal = await sqlCaller(services, request)
  if (principal.key.type === 'default') throw errors.permissionDenied()
  return principal
}

/** Without a name, the history of the caller's own key; else what ran with that key, for holders of a master key. */
async function historyOf(
  services: Services,
  request: FastifyRequest,
  name: string | undefined,
): Promise<HistoryOf> {
  if (name === undefined) return { history: (await holderOf(services, request)).key.id }
  const caller = await keysCaller(services, request)
  const account = await addressedAccount(services, request, caller)
  const ranAs = await keyIdOf(services, account, name)
  if (account.userId !== caller.account.userId)
    await noteReading(services.databases.control, {
      reader: caller.account.username,
      member: account.username,
      key: name,
      address: clientAddress(request),
    })
  return { ranAs }
}

async function deleteWhatRan(services: Services, request: FastifyRequest, name: string): Promise<void> {
  const { account, key } = await keysCaller(services, request)
  const ranAs = await keyIdOf(services, account, name)
  await inTransaction(services.databases.control, async (tx) => {
    const statements = await deleteEntries(tx, { ranAs })
    if (ranAs !== key.id && statements > 0)
      await recordDeletion(tx, request, account, { key: name, statements })
  })
}

/** Of what another key ran or keeps. */
const recordDeletion = (
  tx: ClientBase,
  request: FastifyRequest,
  { username }: Account,
  { key, statements }: Readonly<{ key: string; statements: number }>,
) =>
  recordAudit(tx, {
    actor: username,
    action: 'history.deleted',
    account: username,
    subject: key,
    details: { statements, address: clientAddress(request) },
  })

async function keyThatRan(
  services: Services,
  { account, key }: Principal,
  name: string | undefined,
): Promise<number> {
  if (name === undefined || name === key.name) return key.id
  // Else a key could put statements into what another ran. As the public key everybody may run SQL.
  if (key.type !== 'master' && name !== defaultKeyName) throw errors.notYourResource()
  return keyIdOf(services, account, name)
}

async function keyIdOf({ databases }: Services, { userId }: Account, name: string): Promise<number> {
  const id = await findKeyId(databases.control, userId, name)
  if (id === undefined) throw errors.keyNotFound(name)
  return id
}
